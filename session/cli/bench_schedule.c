// SPDX-License-Identifier: MIT
#include "session/cli/bench_schedule.h"

#include <math.h>

#include "base/clock.h"
#include "base/input.h"

enum {
    ORBIT_HZ = 60,
    ORBIT_JITTER_US = 8000, // so that moves do not fall into step with frames
    ORBIT_STEPS = 180,      // once around
    GAP_MIN_MS = 300,
    GAP_MAX_MS = 700,
    HELD_MS = 80,
    NUDGE_PX = 6, // a click also drags a little: not every source answers to a button alone
};

// splitmix64.
static uint64_t draw(struct fw_bench_schedule *s)
{
    uint64_t z = s->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int64_t between(struct fw_bench_schedule *s, int64_t low, int64_t high)
{
    return low + (int64_t)(draw(s) % (uint64_t)(high - low + 1));
}

static void plan_next(struct fw_bench_schedule *s)
{
    if (s->kind == FW_BENCH_ORBIT)
        s->next_ns = (int64_t)s->index * FW_NS_PER_S / ORBIT_HZ +
                     between(s, 0, ORBIT_JITTER_US) * FW_NS_PER_US;
    else if (s->index % 2)
        s->next_ns += HELD_MS * (int64_t)FW_NS_PER_MS;
    else
        s->next_ns += (between(s, GAP_MIN_MS, GAP_MAX_MS) - HELD_MS) * FW_NS_PER_MS;
}

void fw_bench_schedule_init(struct fw_bench_schedule *s, enum fw_bench_input kind, uint64_t seed,
                            int width, int height)
{
    *s = (struct fw_bench_schedule){
        .kind = kind, .random = seed, .width = width, .height = height
    };
    plan_next(s);
}

int64_t fw_bench_schedule_due(const struct fw_bench_schedule *s)
{
    return s->kind == FW_BENCH_NONE ? INT64_MAX : s->next_ns;
}

static void orbit(const struct fw_bench_schedule *s, struct fw_bench_step *step)
{
    const double radius = 0.2 * (s->width < s->height ? s->width : s->height);
    const double angle = 2 * M_PI * (double)(s->index % ORBIT_STEPS) / ORBIT_STEPS;
    const struct fw_wire_input motion = {
        .kind = FW_INPUT_MOTION,
        .x = (float)(0.6 * s->width + radius * cos(angle)),
        .y = (float)(0.4 * s->height + radius * sin(angle)),
        .dx = (float)(-radius * sin(angle) * 2 * M_PI / ORBIT_STEPS),
        .dy = (float)(radius * cos(angle) * 2 * M_PI / ORBIT_STEPS),
    };
    step->event[step->count++] = motion;
    if (s->index == 0)
        step->event[step->count++] = (struct fw_wire_input){
            .kind = FW_INPUT_BUTTON, .state = 1, .x = motion.x, .y = motion.y
        };
    step->followed = s->index > 0;
}

static void click(struct fw_bench_schedule *s, struct fw_bench_step *step)
{
    if (s->index % 2) {
        step->event[step->count++] = (struct fw_wire_input){ .kind = FW_INPUT_RELEASE };
        return;
    }
    const float x = (float)between(s, s->width / 2, s->width * 3 / 4);
    const float y = (float)between(s, s->height / 4, s->height / 2);
    step->event[step->count++] = (struct fw_wire_input){ .kind = FW_INPUT_MOTION, .x = x, .y = y };
    step->event[step->count++] =
        (struct fw_wire_input){ .kind = FW_INPUT_BUTTON, .state = 1, .x = x, .y = y };
    step->event[step->count++] = (struct fw_wire_input){
        .kind = FW_INPUT_MOTION, .x = x + NUDGE_PX, .y = y, .dx = NUDGE_PX
    };
    step->followed = true;
}

void fw_bench_schedule_take(struct fw_bench_schedule *s, struct fw_bench_step *step)
{
    *step = (struct fw_bench_step){ .at_ns = s->next_ns };
    if (s->kind == FW_BENCH_ORBIT)
        orbit(s, step);
    else
        click(s, step);
    s->index++;
    plan_next(s);
}

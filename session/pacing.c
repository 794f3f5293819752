// SPDX-License-Identifier: MIT
#include "session/pacing.h"

#include "base/clock.h"

enum { DEFAULT_FPS = 60, LEAD_NS = 500 * FW_NS_PER_US };
static const int64_t default_refine_after_ns = 150 * (int64_t)FW_NS_PER_MS;

void fw_pacing_init(struct fw_pacing *pacing, const struct fw_pacing_params *params)
{
    const int fps = params->fps > 0 ? params->fps : DEFAULT_FPS;
    *pacing = (struct fw_pacing){
        .interval_ns = FW_NS_PER_S / fps,
        .due_ns = INT64_MIN,
        .between_ns = INT64_MIN / 2,
        .hold_ns = INT64_MIN,
        .changed_ns = INT64_MIN,
        .refine_frames = params->refine_frames,
        .refine_after_ns =
            params->refine_after_ns > 0 ? params->refine_after_ns : default_refine_after_ns,
    };
}

static int64_t latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// A frame begun now would be done before the encoder is: begin it later, with newer input.
static int64_t late_start(const struct fw_pacing *pacing, const struct fw_pacing_facts *facts)
{
    if (facts->encoder_free_ns == 0 || pacing->render_ns == 0) {
        return INT64_MIN;
    }
    return facts->encoder_free_ns - pacing->render_ns * 5 / 4 - LEAD_NS;
}

// When the beat lets a changed picture start.
static int64_t beat(const struct fw_pacing *pacing, const struct fw_pacing_facts *facts)
{
    if (!facts->pressed) {
        return pacing->due_ns;
    }
    const int64_t between = pacing->between_ns + pacing->interval_ns;
    return between < pacing->due_ns ? between : pacing->due_ns;
}

static enum fw_pacing_action at(int64_t when_ns, int64_t now_ns, enum fw_pacing_action action,
                                int64_t *wake_ns)
{
    if (now_ns >= when_ns) {
        *wake_ns = INT64_MAX;
        return action;
    }
    *wake_ns = when_ns;
    return FW_PACE_WAIT;
}

// A picture that had to be squeezed into few bits gets more of them, bounded.
static bool refinable(const struct fw_pacing *pacing, const struct fw_pacing_facts *facts)
{
    if (facts->animating || pacing->refine_frames == 0) {
        return false;
    }
    return pacing->refined < pacing->refine_frames ||
           (facts->starved && pacing->refined < FW_PACE_REFINE_MAX);
}

// A moving picture's next frame comes soon enough to be the key frame.
static bool next_is_near(const struct fw_pacing *pacing, const struct fw_pacing_facts *facts)
{
    return facts->animating && facts->source_next_ns - facts->now_ns <= pacing->interval_ns;
}

enum fw_pacing_action fw_pacing_decide(const struct fw_pacing *pacing,
                                       const struct fw_pacing_facts *facts, int64_t *wake_ns)
{
    *wake_ns = INT64_MAX;
    // Without room no clock helps: credit, a viewer or a free mailbox wakes us.
    if (facts->wants) {
        if (!facts->room) {
            return FW_PACE_WAIT;
        }
        const int64_t start =
            latest(latest(beat(pacing, facts), pacing->hold_ns), late_start(pacing, facts));
        return at(start, facts->now_ns, FW_PACE_FRAME, wake_ns);
    }
    if (!facts->room) {
        return FW_PACE_WAIT;
    }
    enum fw_pacing_action action = FW_PACE_WAIT;
    // A job under way may yet take the request for a key frame.
    if (facts->have_last && facts->quiet) {
        if (facts->key_wanted && !next_is_near(pacing, facts)) {
            action = at(pacing->hold_ns, facts->now_ns, FW_PACE_KEY, wake_ns);
        } else if (refinable(pacing, facts)) {
            const int64_t still = pacing->changed_ns + pacing->refine_after_ns;
            action = at(latest(latest(still, pacing->due_ns), pacing->hold_ns), facts->now_ns,
                        FW_PACE_REFINE, wake_ns);
        }
    }
    if (action == FW_PACE_WAIT && facts->source_next_ns < *wake_ns) {
        *wake_ns = facts->source_next_ns;
    }
    return action;
}

void fw_pacing_begun(struct fw_pacing *pacing, enum fw_pacing_action action, int64_t now_ns,
                     bool animating)
{
    const int64_t due = pacing->due_ns;
    if (now_ns < due) {
        pacing->between_ns = now_ns;
    }
    // A frame that starts a little late does not move those after it: the cadence is the source's.
    const bool on_cadence = animating && due != INT64_MIN && now_ns - due < pacing->interval_ns;
    if (!on_cadence || now_ns >= due) {
        pacing->due_ns = (on_cadence ? due : now_ns) + pacing->interval_ns;
    }
    if (action == FW_PACE_REFINE) {
        pacing->refined++;
    } else if (action == FW_PACE_FRAME) {
        pacing->refined = 0;
        pacing->changed_ns = now_ns;
    }
}

void fw_pacing_rendered(struct fw_pacing *pacing, int64_t duration_ns)
{
    const int64_t old = pacing->render_ns;
    pacing->render_ns = old ? old + (duration_ns - old) / 8 : duration_ns;
}

void fw_pacing_hold(struct fw_pacing *pacing, int64_t until_ns)
{
    pacing->hold_ns = latest(pacing->hold_ns, until_ns);
}

// SPDX-License-Identifier: MIT
#include "loopback/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "session/keep_loaded.h"

enum { START_MS = 60000, STOP_MS = 20000 }; // under a sanitizer the driver compiles for long

// Lines the session wrote at level error; messages of the validation layer are among them.
static atomic_uint error_lines;

static void write_line(struct fw_log *log, enum fw_log_level level, const char *module,
                       const char *line)
{
    (void)log;
    atomic_fetch_add(&error_lines, level == FW_LOG_ERROR);
    fw_log(fw_log_stderr(FW_LOG_WARN), level, module, "%s", line);
}

static struct fw_log rig_log = { .level = FW_LOG_WARN, .write = write_line };

static void *session_main(void *arg)
{
    struct rig *rig = arg;
    const char *validation = getenv("FW_VALIDATION");
    rig->create_result = fw_pipeline_create(
        &rig->pipeline, &(struct fw_pipeline_params){
                            .transport = rig->transport,
                            .render = { .no_device = rig->params.no_device,
                                        .validation = validation && strcmp(validation, "1") == 0,
                                        .log = &rig_log },
                            .log = &rig_log,
                            .warm_encoder = rig->params.encoder,
                            .refine_frames = rig->params.refine_frames,
                        });
    if (!rig->create_result) {
        rig->run_result = fw_pipeline_run(rig->pipeline);
    }
    rig->clean = fw_pipeline_destroy(&rig->pipeline);
    return NULL;
}

static void take_message(struct rig *rig, const struct fw_loopback_event *event)
{
    assert_int_equal(fw_link_check(event->message, event->size), FW_OK);
    const struct fw_link_header *h = (const void *)event->message;
    switch (h->type) {
    case FW_LINK_WARM:
        memcpy(&rig->warm, event->message, sizeof(rig->warm));
        rig->warms++;
        break;
    case FW_LINK_READY:
        memcpy(&rig->ready, event->message, sizeof(rig->ready));
        rig->readies++;
        break;
    case FW_LINK_BEACON:
        memcpy(&rig->beacon, event->message, sizeof(rig->beacon));
        rig->beacons++;
        break;
    case FW_LINK_FAILED:
        memcpy(&rig->failed, event->message, sizeof(rig->failed));
        rig->failures++;
        break;
    case FW_LINK_VIEW:
        rig->view = ((const struct fw_link_view *)(const void *)event->message)->view;
        rig->views++;
        break;
    case FW_LINK_PROGRESS: break;
    default: fail_msg("unexpected message %d", h->type);
    }
}

static void check_packet(struct rig *rig, const struct fw_packet *p)
{
    const uint64_t first = rig->params.first_frame_id ? rig->params.first_frame_id : 1;
    struct fw_link_packet head = {
        .frame_id = p->frame_id,
        .width = p->width,
        .height = p->height,
        .coded_width = p->coded_width,
        .coded_height = p->coded_height,
        .key = p->key,
        .animating = p->animating,
        .times = p->times,
        .size = p->size,
    };
    memcpy(head.codec, p->codec, sizeof(head.codec));
    assert_int_equal(fw_link_check_packet(&head, sizeof(head) + p->size), FW_OK);
    assert_int_equal(p->frame_id, rig->last_id ? rig->last_id + 1 : first);
    assert_true(rig->packets > 0 || p->key);
    const struct fw_frame_times *t = &p->times;
    assert_true(t->change_ns > 0 && t->begun_ns >= t->change_ns - FW_NS_PER_MS);
    assert_true(t->begun_ns <= t->converted_ns && t->converted_ns <= t->enc_begin_ns);
    assert_true(t->enc_begin_ns <= t->enc_end_ns && t->enc_end_ns <= t->ring_ns);
    rig->last_id = p->frame_id;
    rig->packets++;
    rig->keys += p->key;
    if (rig->params.window) {
        rig_credit(rig, rig->packets + rig->params.window, true);
    }
}

static int left_ms(int64_t until)
{
    const int64_t left = (until - fw_now_ns()) / FW_NS_PER_MS;
    return left > 0 ? (int)left : 0;
}

struct fw_packet *rig_packet(struct rig *rig, int timeout_ms)
{
    const int64_t until = fw_now_ns() + (int64_t)timeout_ms * FW_NS_PER_MS;
    struct fw_loopback_event event;
    while (fw_loopback_next(rig->transport, left_ms(until), &event) == FW_OK) {
        if (event.packet) {
            check_packet(rig, event.packet);
            return event.packet;
        }
        take_message(rig, &event);
    }
    return NULL;
}

unsigned rig_drain(struct rig *rig, int quiet_ms)
{
    unsigned n = 0;
    for (struct fw_packet *p; (p = rig_packet(rig, quiet_ms)); n++) {
        fw_packet_unref(&p);
    }
    return n;
}

bool rig_wait(struct rig *rig, const unsigned *counter, unsigned value, int timeout_ms)
{
    const int64_t until = fw_now_ns() + (int64_t)timeout_ms * FW_NS_PER_MS;
    struct fw_loopback_event event;
    while (*counter < value) {
        if (fw_loopback_next(rig->transport, left_ms(until), &event) != FW_OK) {
            return false;
        }
        if (event.packet) {
            check_packet(rig, event.packet);
            fw_packet_unref(&event.packet);
        } else {
            take_message(rig, &event);
        }
    }
    return true;
}

static void command(struct rig *rig, void *message, uint16_t type, size_t size)
{
    assert_int_equal(fw_loopback_command(rig->transport, message, type, size), FW_OK);
}

void rig_start(struct rig *rig, const struct rig_params *params)
{
    *rig = (struct rig){ .params = *params };
    atomic_store(&error_lines, 0);
    assert_int_equal(fw_transport_loopback_create(&rig->transport), FW_OK);
    assert_int_equal(pthread_create(&rig->thread, NULL, session_main, rig), 0);
    assert_true(rig_wait(rig, &rig->warms, 1, START_MS));
    fw_keep_loaded();
}

void rig_send_start(struct rig *rig)
{
    const struct rig_params *p = &rig->params;
    static struct fw_link_start m;
    m = (struct fw_link_start){
        .width = p->width ? p->width : 320,
        .height = p->height ? p->height : 240,
        .fps = p->fps ? p->fps : 60,
        .bitrate_kbps = p->bitrate_kbps,
        .first_frame_id = p->first_frame_id,
        .arg_count = p->key != NULL,
    };
    snprintf(m.source, sizeof(m.source), "%s", p->source);
    snprintf(m.encoder, sizeof(m.encoder), "%s", p->encoder);
    if (p->key) {
        snprintf(m.args[0].key, sizeof(m.args[0].key), "%s", p->key);
        snprintf(m.args[0].value, sizeof(m.args[0].value), "%s", p->value);
    }
    if (p->view) {
        m.view = *p->view;
    }
    command(rig, &m, FW_LINK_START, sizeof(m));
}

void rig_open(struct rig *rig)
{
    rig_send_start(rig);
    assert_true(rig_wait(rig, &rig->readies, 1, START_MS));
}

void rig_run(struct rig *rig, const struct rig_params *params)
{
    rig_start(rig, params);
    rig_credit(rig, params->window ? params->window : UINT64_MAX, true);
    rig_open(rig);
}

enum fw_err rig_join(struct rig *rig)
{
    pthread_join(rig->thread, NULL);
    fw_transport_destroy(&rig->transport);
    assert_true(rig->clean);
    return rig->create_result ? rig->create_result : rig->run_result;
}

void rig_stop(struct rig *rig)
{
    struct fw_link_header h;
    const int64_t begin = fw_now_ns();
    command(rig, &h, FW_LINK_STOP, sizeof(h));
    assert_int_equal(rig_join(rig), FW_OK);
    assert_int_equal(rig->failures, 0);
    assert_int_equal(atomic_load(&error_lines), 0);
    assert_true(fw_now_ns() - begin < STOP_MS * (int64_t)FW_NS_PER_MS);
}

void rig_credit(struct rig *rig, uint64_t allowed, bool active)
{
    struct fw_link_credit m = { .allowed = allowed, .active = active };
    command(rig, &m, FW_LINK_CREDIT, sizeof(m));
}

void rig_input(struct rig *rig, uint64_t id)
{
    struct fw_link_input m = { .count = 1 };
    m.events[0] = (struct fw_input_event){
        .id = id,
        .rx_ns = fw_now_ns(),
        .kind = FW_INPUT_BUTTON,
        .state = id % 2,
        .x = 50,
        .y = 50,
    };
    command(rig, &m, FW_LINK_INPUT, offsetof(struct fw_link_input, events) + sizeof(m.events[0]));
}

void rig_resize(struct rig *rig, int width, int height)
{
    struct fw_link_resize m = { .width = width, .height = height };
    command(rig, &m, FW_LINK_RESIZE, sizeof(m));
}

void rig_keyframe(struct rig *rig)
{
    struct fw_link_header h;
    command(rig, &h, FW_LINK_KEYFRAME, sizeof(h));
}

void rig_rate(struct rig *rig, int bitrate_kbps, int frame_bytes)
{
    struct fw_link_rate m = { .bitrate_kbps = bitrate_kbps, .frame_bytes = frame_bytes };
    command(rig, &m, FW_LINK_RATE, sizeof(m));
}

int rig_needs_a_device(void **state)
{
    (void)state;
    struct fw_render *render = NULL;
    const enum fw_err err =
        fw_render_create(&render, &(struct fw_render_params){ .log = fw_log_stderr(FW_LOG_ERROR) });
    fw_keep_loaded(); // what the driver leaks keeps its name
    fw_render_destroy(&render);
    if (err == FW_ERR_NOT_FOUND) {
        print_message("skipped: there is no Vulkan device\n");
        exit(77);
    }
    return err ? -1 : 0;
}

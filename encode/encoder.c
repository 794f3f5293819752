// SPDX-License-Identifier: MIT
#include "encode/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "encode/encoder_impl.h"

enum {
    MAX_BACKENDS = 16,
    DEFAULT_FPS = 60,
    MAX_FPS = 240,
    DEFAULT_KBPS = 8000,
    MIN_KBPS = 100,
    MAX_KBPS = 100000,
    MIN_FRAME_BYTES = 256,
    MAX_THREADS = 16,
    MAX_REFUSALS = 3,     // resizes that the chosen back end may refuse before it is left alone
    MAX_UNASKED_KEYS = 8, // in a row; more is an encoder stuck on IDRs
    NAME_SIZE = 128,
    DEVICE_SIZE = 64,
};

struct fw_encoder {
    struct fw_encoder_config config; // what the next open gets; strings point into this struct
    char name[NAME_SIZE], device[DEVICE_SIZE];
    struct fw_log *log;
    const struct fw_encoder_backend *chosen;  // at open: resizes come back to it
    const struct fw_encoder_backend *backend; // in use; kept for the name when `state` is NULL
    void *state;
    unsigned opens[MAX_BACKENDS];
    bool broken[MAX_BACKENDS]; // failed in mid-stream: not tried again by this encoder
    unsigned refusals;
    unsigned unasked_keys;
    bool key_due;
    int applied_bytes; // the frame budget that the open back end works with
    bool rate_due;     // config holds a rate that it does not work with yet
    int64_t rate_ns;   // when the rate was last changed
    int64_t delay_ns;
};

static unsigned backend_index(const struct fw_encoder_backend *backend)
{
    unsigned i = 0;
    while (fw_encoder_backends[i] != backend) {
        i++;
    }
    return i;
}

static bool size_is_valid(int width, int height)
{
    return width >= FW_FRAME_MIN_SIZE && height >= FW_FRAME_MIN_SIZE &&
           width <= FW_FRAME_MAX_WIDTH && height <= FW_FRAME_MAX_HEIGHT && width % 2 == 0 &&
           height % 2 == 0;
}

static int budget(const struct fw_encoder_config *config)
{
    const int per_frame = (int)((int64_t)config->bitrate_kbps * 125 / config->fps);
    return config->frame_bytes < per_frame ? config->frame_bytes : per_frame;
}

bool fw_encoder_rate_due(int current_bytes, int wanted_bytes, int64_t since_ns)
{
    // An IDR is worth several frames: a cut must save that much, a rise may wait for a while.
    const int64_t current = current_bytes, wanted = wanted_bytes;
    if (wanted * 10 <= current * 9) {
        return since_ns >= 250 * (int64_t)FW_NS_PER_MS;
    }
    return wanted * 10 >= current * 11 && since_ns >= 2 * (int64_t)FW_NS_PER_S;
}

static void close_backend(struct fw_encoder *e)
{
    if (e->state) {
        e->backend->close(&e->state);
    }
}

static enum fw_err open_backend(struct fw_encoder *e, const struct fw_encoder_backend *backend,
                                char *message, size_t message_size)
{
    close_backend(e);
    snprintf(message, message_size, "it can't be opened");
    if (backend->present && !backend->present(e->config.device, message, message_size)) {
        return FW_ERR_UNSUPPORTED;
    }
    const char *colon = strchr(e->name, ':');
    e->config.options = backend == e->chosen && colon ? colon + 1 : NULL;
    e->config.open_index = ++e->opens[backend_index(backend)];
    const enum fw_err err = backend->open(&e->state, &e->config, message, message_size);
    if (err) {
        e->state = NULL;
        return err;
    }
    e->backend = backend;
    e->key_due = true;
    e->unasked_keys = 0;
    e->rate_due = false;
    e->applied_bytes = budget(&e->config);
    return FW_OK;
}

// Opens the best back end that is not known to be broken. `message` collects why others were not.
static enum fw_err open_best(struct fw_encoder *e, const struct fw_encoder_backend *except,
                             char *message, size_t message_size)
{
    size_t used = 0;
    message[0] = '\0';
    for (unsigned i = 0; fw_encoder_backends[i]; i++) {
        const struct fw_encoder_backend *backend = fw_encoder_backends[i];
        if (!backend->automatic || e->broken[i] || backend == except) {
            continue;
        }
        char reason[FW_ENCODER_MESSAGE_SIZE];
        struct fw_encoder_probe probe = { .usable = true };
        // Software is the last resort: it is opened rather than probed, which saves its start.
        if (backend->hardware) {
            fw_encoder_probe_one(backend, &probe);
            snprintf(reason, sizeof(reason), "%s", probe.reason);
        }
        if (probe.usable && open_backend(e, backend, reason, sizeof(reason)) == FW_OK) {
            return FW_OK;
        }
        const int n = snprintf(message + used, message_size - used, "%s%s: %s", used ? "; " : "",
                               backend->name, reason);
        used += n > 0 && (size_t)n < message_size - used ? (size_t)n : 0;
    }
    return FW_ERR_UNSUPPORTED;
}

// The back end in use failed (`why`): another takes over, said in one line.
static enum fw_err fall_back(struct fw_encoder *e, const struct fw_encoder_backend *failed,
                             const char *why)
{
    char message[2 * FW_ENCODER_MESSAGE_SIZE] = "nothing may take its place";
    close_backend(e);
    const enum fw_err err =
        failed->strict ? FW_ERR_UNSUPPORTED : open_best(e, failed, message, sizeof(message));
    if (err) {
        fw_log(e->log, FW_LOG_ERROR, "encode",
               "%s failed at frame %llu (%s) and no other works (%s)", failed->name,
               (unsigned long long)e->config.frame_index, why, message);
        return err;
    }
    fw_log(e->log, FW_LOG_WARN, "encode", "%s failed at frame %llu (%s); %s goes on", failed->name,
           (unsigned long long)e->config.frame_index, why, e->backend->name);
    return FW_OK;
}

static enum fw_err choose(struct fw_encoder *e, char *message, size_t message_size)
{
    if (strcmp(e->name, "auto") == 0) {
        return open_best(e, NULL, message, message_size);
    }
    e->chosen = fw_encoder_backend_find(e->name);
    if (!e->chosen) {
        size_t used =
            (size_t)snprintf(message, message_size, "no encoder \"%.40s\"; there are:", e->name);
        // The others are for tests.
        for (unsigned i = 0; fw_encoder_backends[i] && used < message_size; i++) {
            if (fw_encoder_backends[i]->automatic) {
                used += (size_t)snprintf(message + used, message_size - used, " %s",
                                         fw_encoder_backends[i]->name);
            }
        }
        return FW_ERR_NOT_FOUND;
    }
    char reason[FW_ENCODER_MESSAGE_SIZE];
    const enum fw_err err = open_backend(e, e->chosen, reason, sizeof(reason));
    if (err) {
        snprintf(message, message_size, "%s: %s", e->chosen->name, reason);
    }
    return err;
}

static int or_default(int value, int fallback)
{
    return value == 0 ? fallback : value;
}

enum fw_err fw_encoder_open(struct fw_encoder **encoder, const struct fw_encoder_params *params,
                            char *message, size_t message_size)
{
    char ignored[FW_ENCODER_MESSAGE_SIZE];
    *encoder = NULL;
    if (!message || message_size == 0) {
        message = ignored;
        message_size = sizeof(ignored);
    }
    const int fps = or_default(params->fps, DEFAULT_FPS);
    const int kbps = or_default(params->bitrate_kbps, DEFAULT_KBPS);
    const int threads = or_default(params->threads, 1);
    if (!size_is_valid(params->width, params->height) || fps < 1 || fps > MAX_FPS ||
        kbps < MIN_KBPS || kbps > MAX_KBPS || threads < 1 || threads > MAX_THREADS) {
        snprintf(message, message_size,
                 "out of range: %dx%d at %d frames/s, %d kbit/s, %d threads (even sizes, 16x16 to "
                 "3840x2160)",
                 params->width, params->height, fps, kbps, threads);
        return FW_ERR_INVALID;
    }
    struct fw_encoder *e = calloc(1, sizeof(*e));
    if (!e) {
        snprintf(message, message_size, "out of memory");
        return FW_ERR_NOMEM;
    }
    snprintf(e->name, sizeof(e->name), "%s", params->name ? params->name : "auto");
    snprintf(e->device, sizeof(e->device), "%s", params->device ? params->device : "");
    e->log = params->log;
    e->config = (struct fw_encoder_config){ .width = params->width,
                                            .height = params->height,
                                            .fps = fps,
                                            .bitrate_kbps = kbps,
                                            .frame_bytes = kbps * 125 / fps,
                                            .threads = threads,
                                            .device = e->device[0] ? e->device : NULL };
    const enum fw_err err = choose(e, message, message_size);
    if (err) {
        free(e);
        return err;
    }
    e->chosen = e->backend;
    message[0] = '\0';
    *encoder = e;
    return FW_OK;
}

void fw_encoder_close(struct fw_encoder **encoder)
{
    if (!encoder || !*encoder) {
        return;
    }
    close_backend(*encoder);
    free(*encoder);
    *encoder = NULL;
}

static bool frame_fits(const struct fw_encoder *e, const struct fw_frame *frame)
{
    return frame->format == FW_PIXEL_NV12 && frame->coded_width == e->config.width &&
           frame->coded_height == e->config.height && frame->plane[0].data &&
           frame->plane[1].data && frame->plane[0].stride >= (size_t)e->config.width &&
           frame->plane[1].stride >= (size_t)e->config.width;
}

// A rate that waits is brought in when it is worth an IDR, or when an IDR comes anyway.
static enum fw_err apply_rate(struct fw_encoder *e, bool key)
{
    const int64_t now = fw_now_ns();
    if (!key && !fw_encoder_rate_due(e->applied_bytes, budget(&e->config), now - e->rate_ns)) {
        return FW_OK;
    }
    e->rate_due = false;
    e->rate_ns = now;
    e->applied_bytes = budget(&e->config);
    enum fw_err err = e->backend->set_rate(e->state, e->config.bitrate_kbps, e->config.frame_bytes);
    if (err != FW_ERR_UNSUPPORTED) {
        return err;
    }
    const struct fw_encoder_backend *backend = e->backend;
    char message[FW_ENCODER_MESSAGE_SIZE];
    err = open_backend(e, backend, message, sizeof(message));
    return err ? fall_back(e, backend, message) : FW_OK;
}

// One try with the back end in use, and a look at what it made.
static enum fw_err encode_once(struct fw_encoder *e, struct fw_frame *frame, bool key,
                               struct fw_packet **packet, char *message, size_t message_size)
{
    snprintf(message, message_size, "unknown error");
    enum fw_err err = e->backend->encode(e->state, frame, key, packet, message, message_size);
    if (err) {
        return err;
    }
    e->unasked_keys = (*packet)->key && !key && !e->backend->strict ? e->unasked_keys + 1 : 0;
    if (key && !(*packet)->key) {
        snprintf(message, message_size, "it ignored a key frame request");
        err = FW_ERR_INTERNAL;
    } else if (e->unasked_keys > MAX_UNASKED_KEYS) {
        snprintf(message, message_size, "it makes key frames only");
        err = FW_ERR_INTERNAL;
    }
    if (err) {
        fw_packet_unref(packet);
    }
    return err;
}

static void fill_packet(const struct fw_encoder *e, struct fw_packet *packet,
                        const struct fw_frame *frame, int64_t begin_ns)
{
    const uint8_t qp_plus1 = packet->facts.qp_plus1; // by the back end
    packet->facts = frame->facts;
    packet->facts.qp_plus1 = qp_plus1;
    snprintf(packet->facts.encoder, sizeof(packet->facts.encoder), "%s", e->backend->name);
    packet->frame_id = frame->id;
    packet->input_id = frame->input_id;
    packet->width = frame->width;
    packet->height = frame->height;
    packet->coded_width = frame->coded_width;
    packet->coded_height = frame->coded_height;
    packet->animating = frame->animating;
    packet->times = frame->times;
    packet->times.enc_begin_ns = begin_ns;
    packet->times.enc_end_ns = fw_now_ns();
}

enum fw_err fw_encoder_encode(struct fw_encoder *encoder, struct fw_frame *frame, bool key,
                              struct fw_packet **packet)
{
    struct fw_encoder *e = encoder;
    const int64_t begin_ns = fw_now_ns();
    *packet = NULL;
    if (!frame_fits(e, frame)) {
        fw_log(e->log, FW_LOG_ERROR, "encode", "frame %llu is %dx%d in format %d, not %dx%d NV12",
               (unsigned long long)frame->id, frame->coded_width, frame->coded_height,
               (int)frame->format, e->config.width, e->config.height);
        return FW_ERR_INVALID;
    }
    if (!e->state) {
        return FW_ERR_CLOSED; // a fallback found nothing; only resize or a new encoder helps
    }
    enum fw_err err = e->rate_due ? apply_rate(e, key || e->key_due) : FW_OK;
    char message[FW_ENCODER_MESSAGE_SIZE];
    // Each turn takes one back end out of the table, so this ends.
    while (!err) {
        err = encode_once(e, frame, key || e->key_due, packet, message, sizeof(message));
        if (!err) {
            break;
        }
        const struct fw_encoder_backend *failed = e->backend;
        e->broken[backend_index(failed)] = true;
        fw_encoder_probe_forget(failed);
        err = fall_back(e, failed, message);
    }
    e->config.frame_index++;
    if (err) {
        return err;
    }
    e->key_due = false;
    fw_fault_wait(e->delay_ns);
    fill_packet(e, *packet, frame, begin_ns);
    return FW_OK;
}

enum fw_err fw_encoder_set_rate(struct fw_encoder *encoder, int bitrate_kbps, int frame_bytes)
{
    struct fw_encoder *e = encoder;
    if (bitrate_kbps <= 0 || frame_bytes < 0) {
        return FW_ERR_INVALID;
    }
    // A congested link may ask for less than any picture needs; it gets the least there is.
    const int kbps = bitrate_kbps < MIN_KBPS   ? MIN_KBPS
                     : bitrate_kbps > MAX_KBPS ? MAX_KBPS
                                               : bitrate_kbps;
    const int bytes = frame_bytes ? frame_bytes : kbps * 125 / e->config.fps;
    e->config.bitrate_kbps = kbps;
    e->config.frame_bytes = bytes < MIN_FRAME_BYTES       ? MIN_FRAME_BYTES
                            : bytes > FW_PACKET_MAX_BYTES ? FW_PACKET_MAX_BYTES
                                                          : bytes;
    if (!e->state) {
        return FW_OK; // the next open takes it
    }
    enum fw_err err = FW_ERR_UNSUPPORTED;
    if (!e->backend->rate_costs_key) {
        err = e->backend->set_rate(e->state, e->config.bitrate_kbps, e->config.frame_bytes);
    }
    e->rate_due = err == FW_ERR_UNSUPPORTED;
    if (!err) {
        e->applied_bytes = budget(&e->config);
    }
    return e->rate_due ? FW_OK : err;
}

void fw_encoder_set_delay(struct fw_encoder *encoder, int64_t delay_ns)
{
    encoder->delay_ns = delay_ns;
}

enum fw_err fw_encoder_resize(struct fw_encoder *encoder, int width, int height)
{
    struct fw_encoder *e = encoder;
    if (!size_is_valid(width, height)) {
        return FW_ERR_INVALID;
    }
    if (e->state && width == e->config.width && height == e->config.height) {
        e->key_due = true;
        return FW_OK;
    }
    e->config.width = width;
    e->config.height = height;
    // A size may be all that it refused last time: come back to the chosen one, a few times.
    const struct fw_encoder_backend *backend =
        e->broken[backend_index(e->chosen)] || e->refusals >= MAX_REFUSALS ? e->backend : e->chosen;
    char message[FW_ENCODER_MESSAGE_SIZE];
    const enum fw_err err = open_backend(e, backend, message, sizeof(message));
    if (!err) {
        return FW_OK;
    }
    e->refusals += backend == e->chosen;
    return fall_back(e, backend, message);
}

const char *fw_encoder_name(const struct fw_encoder *encoder)
{
    return encoder->backend->name;
}

bool fw_encoder_is_hardware(const struct fw_encoder *encoder)
{
    return encoder->backend->hardware;
}

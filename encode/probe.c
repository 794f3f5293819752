// SPDX-License-Identifier: MIT
// Which encoders really work here: each is opened, fed, and its stream decoded and compared.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "encode/decode.h"
#include "encode/encoder_impl.h"

enum {
    PROBE_WIDTH = 1280,
    PROBE_HEIGHT = 720,
    PROBE_FRAMES = 3,
    PATCHES = 8,
    PATCH_TOLERANCE = 6, // levels; a wrong plane order or matrix is off by tens
    MIN_PSNR = 28,       // dB of luma; broken pictures lie below 15
};

// --- protected by cache_lock
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool done;
    struct fw_encoder_probe probe;
} cache[FW_ENCODER_PROBE_MAX];

// BT.709 limited: white, yellow, cyan, green, magenta, red, blue, black.
static const uint8_t patches[PATCHES][3] = {
    { 235, 128, 128 }, { 219, 16, 138 }, { 188, 154, 16 }, { 173, 42, 26 },
    { 78, 214, 230 },  { 63, 102, 240 }, { 32, 240, 118 }, { 16, 128, 128 },
};

static int patch_at(int x)
{
    return x * PATCHES / PROBE_WIDTH;
}

// Colour bars above; below a ramp that moves with `step`, so that P frames carry something.
static void draw(struct fw_frame *frame, int step)
{
    for (int y = 0; y < PROBE_HEIGHT; y++) {
        uint8_t *row = frame->plane[0].data + (size_t)y * frame->plane[0].stride;
        for (int x = 0; x < PROBE_WIDTH; x++) {
            row[x] = y < PROBE_HEIGHT / 2 ? patches[patch_at(x)][0]
                                          : (uint8_t)(16 + (x / 8 + y / 4 + step * 4) % 200);
        }
    }
    for (int y = 0; y < PROBE_HEIGHT / 2; y++) {
        uint8_t *row = frame->plane[1].data + (size_t)y * frame->plane[1].stride;
        for (int x = 0; x < PROBE_WIDTH; x += 2) {
            const uint8_t *patch = patches[patch_at(x)];
            row[x] = y < PROBE_HEIGHT / 4 ? patch[1] : 128;
            row[x + 1] = y < PROBE_HEIGHT / 4 ? patch[2] : 128;
        }
    }
}

static double luma_psnr(const struct fw_frame *a, const struct fw_frame *b)
{
    uint64_t sum = 0;
    for (int y = 0; y < PROBE_HEIGHT; y++) {
        const uint8_t *pa = a->plane[0].data + (size_t)y * a->plane[0].stride;
        const uint8_t *pb = b->plane[0].data + (size_t)y * b->plane[0].stride;
        for (int x = 0; x < PROBE_WIDTH; x++) {
            const int d = pa[x] - pb[x];
            sum += (uint64_t)(d * d);
        }
    }
    const double mse = (double)sum / (PROBE_WIDTH * PROBE_HEIGHT);
    return mse > 0 ? 10 * log10(255.0 * 255.0 / mse) : 99;
}

// The middle of each bar, luma and both chroma planes.
static bool colours_match(const struct fw_frame *frame)
{
    const int width = PROBE_WIDTH / PATCHES;
    for (int i = 0; i < PATCHES; i++) {
        int sum[3] = { 0 }, count = 0;
        for (int y = PROBE_HEIGHT / 8; y < PROBE_HEIGHT / 4; y += 2) {
            for (int x = i * width + width / 4; x < i * width + width * 3 / 4; x += 2, count++) {
                const uint8_t *chroma =
                    frame->plane[1].data + (size_t)(y / 2) * frame->plane[1].stride + x;
                sum[0] += frame->plane[0].data[(size_t)y * frame->plane[0].stride + (size_t)x];
                sum[1] += chroma[0];
                sum[2] += chroma[1];
            }
        }
        for (int c = 0; c < 3; c++) {
            if (abs(sum[c] / count - patches[i][c]) > PATCH_TOLERANCE) {
                return false;
            }
        }
    }
    return true;
}

static bool check_picture(struct fw_decoder *decoder, const struct fw_packet *packet,
                          const struct fw_frame *source, char *reason, size_t reason_size)
{
    struct fw_frame *decoded = NULL;
    const enum fw_err err = fw_decoder_decode(decoder, packet->data, packet->size, &decoded);
    if (err) {
        snprintf(reason, reason_size, "its stream does not decode (%s)", fw_err_name(err));
        return false;
    }
    bool ok = decoded->width == PROBE_WIDTH && decoded->height == PROBE_HEIGHT;
    if (!ok) {
        snprintf(reason, reason_size, "its picture has the wrong size");
    } else if (luma_psnr(source, decoded) < MIN_PSNR || !colours_match(decoded)) {
        snprintf(reason, reason_size, "its picture is wrong");
        ok = false;
    }
    fw_frame_unref(&decoded);
    return ok;
}

static bool run_frames(const struct fw_encoder_backend *backend, void *state,
                       struct fw_decoder *decoder, struct fw_frame *frame,
                       struct fw_encoder_probe *out)
{
    int64_t best_ns = INT64_MAX;
    for (int i = 0; i < PROBE_FRAMES; i++) {
        draw(frame, i);
        frame->id = (uint64_t)i + 1;
        struct fw_packet *packet = NULL;
        const int64_t begin = fw_now_ns();
        if (backend->encode(state, frame, i == 0, &packet, out->reason, sizeof(out->reason))) {
            return false;
        }
        const int64_t took = fw_now_ns() - begin;
        best_ns = took < best_ns ? took : best_ns;
        bool ok = packet->key == (i == 0);
        if (!ok) {
            snprintf(out->reason, sizeof(out->reason), "key frames come when not asked for");
        } else {
            ok = check_picture(decoder, packet, frame, out->reason, sizeof(out->reason));
        }
        fw_packet_unref(&packet);
        if (!ok) {
            return false;
        }
    }
    out->ms_per_frame = (double)best_ns / FW_NS_PER_MS;
    snprintf(out->reason, sizeof(out->reason), "%.1f ms a frame at %dx%d", out->ms_per_frame,
             PROBE_WIDTH, PROBE_HEIGHT);
    return true;
}

void fw_encoder_probe_run(const struct fw_encoder_backend *backend, struct fw_encoder_probe *out)
{
    *out = (struct fw_encoder_probe){ .name = backend->name, .reason = "it can't be opened" };
    if (backend->present && !backend->present(NULL, out->reason, sizeof(out->reason))) {
        return;
    }
    const struct fw_encoder_config config = { .width = PROBE_WIDTH,
                                              .height = PROBE_HEIGHT,
                                              .fps = 60,
                                              .bitrate_kbps = 16000,
                                              .frame_bytes = 16000 * 125 / 60,
                                              .threads = 1,
                                              .open_index = 1 };
    void *state = NULL;
    if (backend->open(&state, &config, out->reason, sizeof(out->reason))) {
        return;
    }
    struct fw_decoder *decoder = NULL;
    struct fw_frame *frame = fw_frame_alloc(PROBE_WIDTH, PROBE_HEIGHT, FW_PIXEL_NV12);
    if (frame && fw_decoder_create(&decoder) == FW_OK) {
        out->usable = run_frames(backend, state, decoder, frame, out);
    } else {
        snprintf(out->reason, sizeof(out->reason), "no H.264 decoder to check it with");
    }
    fw_decoder_destroy(&decoder);
    fw_frame_unref(&frame);
    backend->close(&state);
}

static unsigned cache_index(const struct fw_encoder_backend *backend)
{
    unsigned i = 0;
    while (fw_encoder_backends[i] != backend) {
        i++;
    }
    return i;
}

void fw_encoder_probe_one(const struct fw_encoder_backend *backend, struct fw_encoder_probe *out)
{
    const unsigned i = cache_index(backend);
    pthread_mutex_lock(&cache_lock);
    if (!cache[i].done) {
        fw_encoder_probe_run(backend, &cache[i].probe);
        cache[i].done = true;
    }
    *out = cache[i].probe;
    pthread_mutex_unlock(&cache_lock);
}

void fw_encoder_probe_forget(const struct fw_encoder_backend *backend)
{
    pthread_mutex_lock(&cache_lock);
    cache[cache_index(backend)].done = false;
    pthread_mutex_unlock(&cache_lock);
}

void fw_encoder_probe_all(struct fw_encoder_probe *out, unsigned *count, struct fw_log *log)
{
    const unsigned room = *count;
    *count = 0;
    for (unsigned i = 0; fw_encoder_backends[i] && *count < room; i++) {
        // Back ends for tests are no answer to what this machine can do.
        if (!fw_encoder_backends[i]->automatic) {
            continue;
        }
        struct fw_encoder_probe *probe = &out[(*count)++];
        fw_encoder_probe_one(fw_encoder_backends[i], probe);
        fw_log(log, FW_LOG_DEBUG, "encode", "%s %s: %s", probe->name,
               probe->usable ? "works" : "is not usable", probe->reason);
    }
}

void fw_encoder_probe_summary(const struct fw_encoder_probe *probes, unsigned count, char *out,
                              size_t out_size)
{
    unsigned best = 0;
    while (best < count && !probes[best].usable) {
        best++;
    }
    size_t used = (size_t)snprintf(out, out_size, "%s",
                                   best < count ? probes[best].name : "no encoder works");
    // Only what was preferred and is not there needs a word.
    for (unsigned i = 0; i < best && used < out_size; i++) {
        used += (size_t)snprintf(out + used, out_size - used, "%s%s: %s", i == 0 ? " (" : "; ",
                                 probes[i].name, probes[i].reason);
    }
    if (best > 0 && used < out_size) {
        snprintf(out + used, out_size - used, ")");
    }
}

enum fw_err fw_encoder_probe_named(const char *name, struct fw_encoder_probe *out)
{
    const struct fw_encoder_backend *backend = fw_encoder_backend_find(name);
    if (!backend || !backend->automatic) {
        return FW_ERR_NOT_FOUND;
    }
    fw_encoder_probe_one(backend, out);
    return FW_OK;
}

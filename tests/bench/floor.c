// SPDX-License-Identifier: MIT
// Prints one line of JSON: what a frame costs to draw, to convert and to encode, each alone.
//   bench_floor SOURCE [KEY=VALUE…]   with FLOOR_FRAMES, FLOOR_FPS, FLOOR_KBPS and FLOOR_RHYTHM=1
//                                     (pauses of 150-250 ms before each frame) in the environment;
//                                     FLOOR_DRAG=1 moves the mouse before each frame of a hot loop
//                                     FLOOR_START=1: how long the first picture takes, once
//                                     FLOOR_CLICKS=FILE: with pauses, clicks before each frame, and
//                                     writes what was encoded, each with its size in 32 bits first
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/frame.h"
#include "bench/floor.h"
#include "render/source.h"

enum { WIDTH = 1280, HEIGHT = 720, KEPT = 48, MAX_FRAMES = 4000, MAX_ARGS = 8 };

enum part { RENDER, CONVERT, ENCODE, PARTS };

struct result {
    int64_t cpu_ns[PARTS];
    int64_t wall_ns[PARTS][MAX_FRAMES];
    int64_t total_ns[MAX_FRAMES]; // the three, one after the other
    int64_t bytes;
    double pipeline_fps; // 0 = not measured
    int64_t pipeline_cpu_ns;
    int frames;
    bool drag;
};

static int64_t cpu_ns(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * (int64_t)FW_NS_PER_S +
           (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * (int64_t)FW_NS_PER_US;
}

static int from_env(const char *name, int value)
{
    const char *text = getenv(name);
    return text && *text ? atoi(text) : value;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double quantile_ms(int64_t *values, int count, double q)
{
    qsort(values, (size_t)count, sizeof(*values), compare);
    return (double)values[(int)(q * (count - 1) + 0.5)] / FW_NS_PER_MS;
}

// A small move of the mouse with the left button held: what turns a scene.
static void turn(struct floor_render *render, int i)
{
    floor_render_input(render, &(struct fw_input_event){
                                   .kind = FW_INPUT_MOTION,
                                   .x = (float)(600 + i % 80),
                                   .y = 360,
                                   .dx = i % 80 ? 1 : -79,
                               });
}

static void press(struct floor_render *render)
{
    floor_render_input(render, &(struct fw_input_event){
                                   .kind = FW_INPUT_BUTTON, .state = 1, .x = 600, .y = 360 });
}

// Each part in a loop of its own, so that its CPU time is its own.
static bool hot(struct result *r, struct floor_render *render, struct floor_encode *encode,
                struct fw_frame **kept)
{
    for (int i = 0; i < KEPT; i++) { // also warms everything up
        if (r->drag || i == 0)
            turn(render, i);
        if (!floor_render_draw(render))
            return false;
        floor_render_convert(render, kept[i]);
    }
    int64_t cpu = cpu_ns();
    for (int i = 0; i < r->frames; i++) {
        const int64_t begin = fw_now_ns();
        if (r->drag)
            turn(render, i);
        if (!floor_render_draw(render))
            return false;
        r->wall_ns[RENDER][i] = fw_now_ns() - begin;
    }
    r->cpu_ns[RENDER] = cpu_ns() - cpu;

    struct fw_frame *scratch = fw_frame_alloc(WIDTH, HEIGHT, FW_PIXEL_NV12);
    if (!scratch)
        return false;
    cpu = cpu_ns();
    for (int i = 0; i < r->frames; i++) {
        const int64_t begin = fw_now_ns();
        floor_render_convert(render, scratch);
        r->wall_ns[CONVERT][i] = fw_now_ns() - begin;
    }
    r->cpu_ns[CONVERT] = cpu_ns() - cpu;
    fw_frame_unref(&scratch);

    if (floor_encode_frame(encode, kept[0]) < 0) // the IDR, which a stream has once
        return false;
    cpu = cpu_ns();
    for (int i = 0; i < r->frames; i++) {
        // Forth and back, so that no cut falls between two frames.
        const int at = (i + 1) % (2 * KEPT - 2);
        const int64_t begin = fw_now_ns();
        const int size = floor_encode_frame(encode, kept[at < KEPT ? at : 2 * KEPT - 2 - at]);
        r->wall_ns[ENCODE][i] = fw_now_ns() - begin;
        if (size < 0)
            return false;
        r->bytes += size;
    }
    r->cpu_ns[ENCODE] = cpu_ns() - cpu;
    for (int i = 0; i < r->frames; i++)
        r->total_ns[i] = r->wall_ns[RENDER][i] + r->wall_ns[CONVERT][i] + r->wall_ns[ENCODE][i];
    cpu = cpu_ns();
    r->pipeline_fps = floor_pipeline_fps(render, encode, kept, r->frames, r->drag);
    r->pipeline_cpu_ns = cpu_ns() - cpu;
    return r->pipeline_fps > 0;
}

static bool keep(FILE *file, const void *data, int size)
{
    const uint32_t head = (uint32_t)size;
    return !file || (fwrite(&head, sizeof(head), 1, file) == 1 &&
                     fwrite(data, 1, (size_t)size, file) == (size_t)size);
}

// All three for one frame, then a pause as a person makes: caches and clocks have gone cold.
static bool rhythm(struct result *r, struct floor_render *render, struct floor_encode *encode,
                   struct fw_frame **kept, FILE *clicks)
{
    for (int i = -3; i < r->frames; i++) {
        const long pause_us = 150000 + random() % 100000;
        nanosleep(&(struct timespec){ .tv_nsec = i < 0 ? 0 : pause_us * 1000 }, NULL);
        struct fw_frame *frame = kept[(i + 3) % 3];
        const int64_t begin = fw_now_ns();
        if (clicks)
            press(render);
        else
            turn(render, i + 3);
        if (!floor_render_draw(render))
            return false;
        const int64_t rendered = fw_now_ns();
        floor_render_convert(render, frame);
        const int64_t converted = fw_now_ns();
        const int size = floor_encode_frame(encode, frame);
        const int64_t encoded = fw_now_ns();
        if (size < 0 || !keep(clicks, floor_encode_data(encode), size))
            return false;
        if (i < 0)
            continue;
        r->bytes += size;
        r->wall_ns[RENDER][i] = rendered - begin;
        r->wall_ns[CONVERT][i] = converted - rendered;
        r->wall_ns[ENCODE][i] = encoded - converted;
        r->total_ns[i] = encoded - begin;
    }
    return true;
}

static void print(struct result *r, bool paced)
{
    static const char *const names[PARTS] = { "render", "convert", "encode" };
    printf("{\"frames\":%d,\"rhythm\":%s", r->frames, paced ? "true" : "false");
    for (int p = 0; p < PARTS; p++)
        printf(",\"%s\":{\"cpuMs\":%.4f,\"p50Ms\":%.4f,\"p99Ms\":%.4f}", names[p],
               (double)r->cpu_ns[p] / r->frames / FW_NS_PER_MS,
               quantile_ms(r->wall_ns[p], r->frames, 0.5),
               quantile_ms(r->wall_ns[p], r->frames, 0.99));
    printf(",\"total\":{\"p50Ms\":%.4f,\"p99Ms\":%.4f},\"bytesPerFrame\":%.0f,\"pipelineFps\":%.2f,"
           "\"pipelineCpuMs\":%.4f}\n",
           quantile_ms(r->total_ns, r->frames, 0.5), quantile_ms(r->total_ns, r->frames, 0.99),
           (double)r->bytes / r->frames, r->pipeline_fps,
           (double)r->pipeline_cpu_ns / r->frames / FW_NS_PER_MS);
}

// From nothing to the first encoded picture, part by part.
static bool print_start(struct floor_render *render, struct floor_encode *encode,
                        struct fw_frame *frame, int64_t encoder_ns)
{
    int64_t device_ns, source_ns;
    floor_render_opened(render, &device_ns, &source_ns);
    const int64_t begin = fw_now_ns();
    if (!floor_render_draw(render))
        return false;
    floor_render_convert(render, frame);
    if (floor_encode_frame(encode, frame) < 0)
        return false;
    const int64_t first_ns = fw_now_ns() - begin;
    printf("{\"deviceMs\":%.3f,\"sourceMs\":%.3f,\"encoderMs\":%.3f,\"firstMs\":%.3f}\n",
           (double)device_ns / FW_NS_PER_MS, (double)source_ns / FW_NS_PER_MS,
           (double)encoder_ns / FW_NS_PER_MS, (double)first_ns / FW_NS_PER_MS);
    return true;
}

static unsigned parse_args(int argc, char **argv, struct fw_source_arg *args)
{
    unsigned count = 0;
    for (int i = 2; i < argc && count < MAX_ARGS; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals)
            continue;
        *equals = 0;
        args[count++] = (struct fw_source_arg){ .key = argv[i], .value = equals + 1 };
    }
    return count;
}

int main(int argc, char **argv)
{
    static struct result result;
    struct fw_frame *kept[KEPT] = { 0 };
    struct fw_source_arg args[MAX_ARGS];
    const struct floor_params params = {
        .source = argc > 1 ? argv[1] : "testcard",
        .args = args,
        .arg_count = parse_args(argc, argv, args),
        .width = WIDTH,
        .height = HEIGHT,
        .fps = from_env("FLOOR_FPS", 60),
        .bitrate_kbps = from_env("FLOOR_KBPS", 8000),
    };
    result.frames = from_env("FLOOR_FRAMES", 300);
    if (result.frames < 1 || result.frames > MAX_FRAMES)
        return 2;
    const bool paced = from_env("FLOOR_RHYTHM", 0) != 0;
    result.drag = from_env("FLOOR_DRAG", 0) != 0;
    struct floor_render *render = floor_render_open(&params);
    const int64_t begin = fw_now_ns();
    struct floor_encode *encode = floor_encode_open(&params);
    const int64_t encoder_ns = fw_now_ns() - begin;
    const char *path = getenv("FLOOR_CLICKS");
    FILE *clicks = paced && path && *path ? fopen(path, "wb") : NULL;
    bool good = render && encode && (!path || !paced || clicks);
    for (int i = 0; good && i < KEPT; i++)
        good = (kept[i] = fw_frame_alloc(WIDTH, HEIGHT, FW_PIXEL_NV12)) != NULL;
    const bool start = from_env("FLOOR_START", 0) != 0;
    if (good && start) {
        good = print_start(render, encode, kept[0], encoder_ns);
    } else if (good) {
        press(render);
        good = paced ? rhythm(&result, render, encode, kept, clicks)
                     : hot(&result, render, encode, kept);
    }
    if (clicks)
        good &= fclose(clicks) == 0;
    if (good && !start)
        print(&result, paced);
    else if (!good)
        fprintf(stderr, "floor: failed\n");
    for (int i = 0; i < KEPT; i++)
        fw_frame_unref(&kept[i]);
    floor_encode_close(&encode);
    floor_render_close(&render);
    return !good;
}

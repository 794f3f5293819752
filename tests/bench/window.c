// SPDX-License-Identifier: MIT
// One of framewire's sources as an ordinary program with a window: what the rivals show. The same
// code draws the same picture with the same driver, as soon as there was input or its beat has
// come.
//   bench_window SOURCE [KEY=VALUE…]   on the display of DISPLAY, 1280x720 at its corner, 60 fps
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/XShm.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>

#include "base/clock.h"
#include "base/frame.h"
#include "bench/floor.h"
#include "render/source.h"

enum { WIDTH = 1280, HEIGHT = 720, FPS = 60, MAX_ARGS = 8 };
enum { TILE = 80, ACROSS = WIDTH / TILE, DOWN = HEIGHT / TILE };

struct window {
    Display *display;
    Window id;
    GC gc;
    XShmSegmentInfo shm;
    XImage *image;
    struct floor_render *render;
    char *shown;  // what the window has, as in `image`
    bool exposed; // to be painted whether or not there is something new
};

static bool open_window(struct window *w)
{
    w->display = XOpenDisplay(NULL);
    if (!w->display || !XShmQueryExtension(w->display))
        return false;
    const int screen = DefaultScreen(w->display);
    w->id = XCreateSimpleWindow(w->display, DefaultRootWindow(w->display), 0, 0, WIDTH, HEIGHT, 0,
                                0, 0);
    XStoreName(w->display, w->id, "bench_window");
    XSelectInput(w->display, w->id,
                 ButtonPressMask | ButtonReleaseMask | PointerMotionMask | ExposureMask);
    w->gc = DefaultGC(w->display, screen);
    w->image = XShmCreateImage(w->display, DefaultVisual(w->display, screen),
                               (unsigned)DefaultDepth(w->display, screen), ZPixmap, NULL, &w->shm,
                               WIDTH, HEIGHT);
    if (!w->image || w->image->bits_per_pixel != 32)
        return false;
    w->shm.shmid = shmget(IPC_PRIVATE, (size_t)w->image->bytes_per_line * HEIGHT, IPC_CREAT | 0600);
    if (w->shm.shmid < 0)
        return false;
    w->shm.shmaddr = w->image->data = shmat(w->shm.shmid, NULL, 0);
    const bool attached = XShmAttach(w->display, &w->shm) && XSync(w->display, False);
    shmctl(w->shm.shmid, IPC_RMID, NULL);
    w->shown = calloc(HEIGHT, (size_t)w->image->bytes_per_line);
    XMapWindow(w->display, w->id);
    return attached && w->shown;
}

static void put(struct window *w, int x, int y, int width, int height)
{
    XShmPutImage(w->display, w->id, w->gc, w->image, x, y, x, y, (unsigned)width, (unsigned)height,
                 False);
}

// Brings the tile up to date; false: it was.
static bool changed(struct window *w, int x, int y)
{
    bool differs = false;
    for (int row = y; row < y + TILE; row++) {
        const size_t at = (size_t)row * (size_t)w->image->bytes_per_line + (size_t)x * 4;
        if (memcmp(w->shown + at, w->image->data + at, TILE * 4) != 0) {
            memcpy(w->shown + at, w->image->data + at, TILE * 4);
            differs = true;
        }
    }
    return differs;
}

static bool paint(struct window *w, bool all)
{
    bool tile[DOWN][ACROSS];
    int count = 0;
    if (!floor_render_draw(w->render))
        return false;
    floor_render_bgrx(w->render, w->image->data, w->image->bytes_per_line);
    for (int i = 0; i < DOWN * ACROSS; i++)
        count += tile[i / ACROSS][i % ACROSS] = changed(w, i % ACROSS * TILE, i / ACROSS * TILE);
    if (all || count > DOWN * ACROSS / 2)
        put(w, 0, 0, WIDTH, HEIGHT);
    else
        for (int i = 0; i < DOWN * ACROSS; i++)
            if (tile[i / ACROSS][i % ACROSS])
                put(w, i % ACROSS * TILE, i / ACROSS * TILE, TILE, TILE);
    XSync(w->display, False); // the server has read the segment: it may be drawn over
    return true;
}

// Gives what has come to the source.
static void take_events(struct window *w)
{
    while (XPending(w->display)) {
        XEvent event;
        XNextEvent(w->display, &event);
        struct fw_input_event in = { .kind = FW_INPUT_MOTION };
        if (event.type == MotionNotify) {
            in.x = (float)event.xmotion.x;
            in.y = (float)event.xmotion.y;
        } else if (event.type == ButtonPress || event.type == ButtonRelease) {
            in.kind = FW_INPUT_BUTTON;
            in.state = event.type == ButtonPress;
            in.x = (float)event.xbutton.x;
            in.y = (float)event.xbutton.y;
        } else {
            w->exposed |= event.type == Expose;
            continue;
        }
        floor_render_input(w->render, &in);
    }
}

static int run(struct window *w)
{
    struct pollfd fd = { .fd = ConnectionNumber(w->display), .events = POLLIN };
    for (;;) {
        take_events(w);
        int64_t next;
        if (floor_render_wants(w->render, &next) || w->exposed) {
            const bool all = w->exposed;
            w->exposed = false;
            if (!paint(w, all))
                return 1;
            continue;
        }
        const int64_t now = fw_now_ns();
        struct timespec wait = { .tv_nsec = 0 };
        if (next != INT64_MAX && next > now)
            wait = (struct timespec){ (next - now) / FW_NS_PER_S, (next - now) % FW_NS_PER_S };
        ppoll(&fd, 1, next == INT64_MAX ? NULL : &wait, NULL);
        if (fd.revents & (POLLHUP | POLLERR))
            return 0;
    }
}

int main(int argc, char **argv)
{
    struct fw_source_arg args[MAX_ARGS];
    struct window w = { 0 };
    struct floor_params params = {
        .source = argc > 1 ? argv[1] : "testcard",
        .args = args,
        .width = WIDTH,
        .height = HEIGHT,
        .fps = FPS,
    };
    for (int i = 2; i < argc && params.arg_count < MAX_ARGS; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals)
            continue;
        *equals = 0;
        args[params.arg_count++] = (struct fw_source_arg){ .key = argv[i], .value = equals + 1 };
    }
    if (!open_window(&w)) {
        fprintf(stderr, "window: no X display with MIT-SHM, 24 bits deep\n");
        return 1;
    }
    w.render = floor_render_open(&params);
    const int rc = w.render ? run(&w) : 1;
    floor_render_close(&w.render);
    free(w.shown);
    return rc;
}

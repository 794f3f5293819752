// SPDX-License-Identifier: MIT
// Looks at an X display from outside of whatever draws on it.
//   bench_observer clicks COUNT [X Y]
//     presses a button by XTest, polls one pixel by XShmGetImage until its brightness has moved,
//     and again after a random gap of 150-250 ms. The pixel is the middle of the click patch of the
//     test card (render/source/testcard.h), wherever on the display that is; the mouse stays beside
//     it (or at X Y). One line of CSV a click: when it was pressed and when it was seen, in ns of
//     CLOCK_MONOTONIC, and the time of the last look before it was seen.
//   bench_observer wait SECONDS
//     waits until the patch is there; prints when, and where its middle is.
//   bench_observer press
//     reads lines "X Y" and presses there: the hands of a viewer whose display is elsewhere.
// The display is that of DISPLAY.
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/XShm.h>
#include <X11/extensions/XTest.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <time.h>

#include "base/clock.h"
#include "render/source/testcard.h"

enum {
    LUMA_MOVED = 60,    // of 255; from one colour of the patch to the other it is about 77
    COLOR_NEAR = 40,    // a patch that was compressed is still one
    PATCH_PIXELS = 500, // smaller is no patch
    LOST_MS = 3000,
    POLL_US = 400, // between two looks: takes little from whom is looked at
};

struct shot {
    XShmSegmentInfo shm;
    XImage *image;
};

struct observer {
    Display *display;
    Window root;
    int width, height;
    struct shot all, pixel;
};

static bool take(struct observer *o, struct shot *shot, int x, int y)
{
    return XShmGetImage(o->display, o->root, shot->image, x, y, AllPlanes);
}

static bool open_shot(struct observer *o, struct shot *shot, int width, int height)
{
    const int screen = DefaultScreen(o->display);
    shot->image = XShmCreateImage(o->display, DefaultVisual(o->display, screen),
                                  (unsigned)DefaultDepth(o->display, screen), ZPixmap, NULL,
                                  &shot->shm, (unsigned)width, (unsigned)height);
    if (!shot->image || shot->image->bits_per_pixel != 32)
        return false;
    const size_t size = (size_t)shot->image->bytes_per_line * (size_t)height;
    shot->shm.shmid = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
    if (shot->shm.shmid < 0)
        return false;
    shot->shm.shmaddr = shot->image->data = shmat(shot->shm.shmid, NULL, 0);
    const bool attached = XShmAttach(o->display, &shot->shm) && XSync(o->display, False);
    shmctl(shot->shm.shmid, IPC_RMID, NULL); // goes with its last user
    return attached;
}

static bool open_observer(struct observer *o)
{
    int event, error, major, minor;
    o->display = XOpenDisplay(NULL);
    if (!o->display || !XShmQueryExtension(o->display) ||
        !XTestQueryExtension(o->display, &event, &error, &major, &minor))
        return false;
    o->root = DefaultRootWindow(o->display);
    o->width = DisplayWidth(o->display, DefaultScreen(o->display));
    o->height = DisplayHeight(o->display, DefaultScreen(o->display));
    return open_shot(o, &o->all, o->width, o->height) && open_shot(o, &o->pixel, 1, 1);
}

static const uint8_t *at(const struct shot *shot, int x, int y) // blue, green, red
{
    return (const uint8_t *)shot->image->data + (long)y * shot->image->bytes_per_line + x * 4L;
}

static bool near(const uint8_t *bgr, const uint8_t rgb[3])
{
    for (int i = 0; i < 3; i++)
        if (abs(bgr[2 - i] - rgb[i]) > COLOR_NEAR)
            return false;
    return true;
}

// The middle of all pixels of the patch's two colours; one of them fills it.
static bool find_patch(struct observer *o, int *x, int *y)
{
    const uint8_t *colors[] = { fw_testcard_entries[FW_TESTCARD_CLICK].rgb, fw_testcard_clicked };
    if (!take(o, &o->all, 0, 0))
        return false;
    long count[2] = { 0 }, sum_x[2] = { 0 }, sum_y[2] = { 0 };
    for (int row = 0; row < o->height; row++) {
        for (int column = 0; column < o->width; column++) {
            for (int k = 0; k < 2; k++) {
                if (near(at(&o->all, column, row), colors[k])) {
                    count[k]++;
                    sum_x[k] += column;
                    sum_y[k] += row;
                }
            }
        }
    }
    const int best = count[1] > count[0];
    if (count[best] < PATCH_PIXELS)
        return false;
    *x = (int)(sum_x[best] / count[best]);
    *y = (int)(sum_y[best] / count[best]);
    return near(at(&o->all, *x, *y), colors[best]);
}

// `when`: the middle of the look.
static int luma(struct observer *o, int x, int y, int64_t *when)
{
    const int64_t begin = fw_now_ns();
    if (!take(o, &o->pixel, x, y))
        exit(1);
    *when = (begin + fw_now_ns()) / 2;
    const uint8_t *p = at(&o->pixel, 0, 0);
    return (p[2] * 213 + p[1] * 715 + p[0] * 72) / 1000;
}

static void sleep_us(long us)
{
    nanosleep(&(struct timespec){ .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 }, NULL);
}

static void button(struct observer *o, bool down)
{
    XTestFakeButtonEvent(o->display, 1, down, CurrentTime);
    XFlush(o->display);
}

// One press; false: nothing was seen of it.
static bool click(struct observer *o, int x, int y)
{
    int64_t looked, seen;
    const int before = luma(o, x, y, &seen);
    const int64_t pressed = fw_now_ns();
    button(o, true);
    do {
        looked = seen;
        sleep_us(POLL_US);
        const int now = luma(o, x, y, &seen);
        if (abs(now - before) > LUMA_MOVED) {
            button(o, false);
            printf("%lld,%lld,%lld\n", (long long)pressed, (long long)seen, (long long)looked);
            return true;
        }
    } while (seen - pressed < LOST_MS * (int64_t)FW_NS_PER_MS);
    button(o, false);
    printf("%lld,,\n", (long long)pressed);
    return false;
}

static int clicks(struct observer *o, int count, int argc, char **argv)
{
    int x, y, lost = 0;
    if (!find_patch(o, &x, &y)) {
        fprintf(stderr, "observer: no click patch of the test card on this display\n");
        return 1;
    }
    // Beside the patch: the card draws a cross where the mouse is.
    const int mouse_x = argc > 1 ? atoi(argv[0]) : x, mouse_y = argc > 1 ? atoi(argv[1]) : y + 250;
    XTestFakeMotionEvent(o->display, DefaultScreen(o->display), mouse_x, mouse_y, CurrentTime);
    XSync(o->display, False);
    sleep_us(500000);
    printf("pressed_ns,seen_ns,looked_before_ns\n");
    srandom((unsigned)fw_now_ns());
    for (int i = 0; i < count; i++) {
        lost += !click(o, x, y);
        fflush(stdout);
        sleep_us(150000 + random() % 100000);
    }
    return lost == count;
}

static int wait_for_patch(struct observer *o, double seconds)
{
    int x, y;
    const int64_t end = fw_now_ns() + (int64_t)(seconds * FW_NS_PER_S);
    while (!find_patch(o, &x, &y)) {
        if (fw_now_ns() > end)
            return 1;
        sleep_us(2000);
    }
    printf("%lld,%d,%d\n", (long long)fw_now_ns(), x, y);
    return 0;
}

static int press_lines(struct observer *o)
{
    char line[64];
    int x, y;
    while (fgets(line, sizeof(line), stdin)) {
        if (sscanf(line, "%d %d", &x, &y) != 2)
            continue;
        XTestFakeMotionEvent(o->display, DefaultScreen(o->display), x, y, CurrentTime);
        button(o, true);
        button(o, false);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct observer o = { 0 };
    const char *what = argc > 1 ? argv[1] : "";
    if (!open_observer(&o)) {
        fprintf(stderr, "observer: no X display with XTest and MIT-SHM, 24 bits deep\n");
        return 1;
    }
    if (strcmp(what, "clicks") == 0 && argc > 2)
        return clicks(&o, atoi(argv[2]), argc - 3, argv + 3);
    if (strcmp(what, "wait") == 0 && argc > 2)
        return wait_for_patch(&o, atof(argv[2]));
    if (strcmp(what, "press") == 0)
        return press_lines(&o);
    fprintf(stderr, "bench_observer clicks COUNT [X Y] | wait SECONDS | press\n");
    return 2;
}

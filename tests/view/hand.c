// SPDX-License-Identifier: MIT
// A hand and an eye on an X display, for the tests of the viewer. Reads commands from stdin, one a
// line, and answers each with one line:
//   windows                 "ID X Y WIDTH HEIGHT TITLE" of each that is shown, ";" between them
//   pixels X,Y [X,Y…]       "RRGGBB …" of the display
//   sum X Y WIDTH HEIGHT    a checksum of that part of the display
//   save FILE               the display as PPM
//   move X Y | press N | release N | key NAME | keydown NAME | keyup NAME      (XTest)
//   resize ID W H | close ID | map ID | unmap ID
#include <X11/XKBlib.h>
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/XTest.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 4096 };

static Display *display;
static Window root;

static XImage *look(int x, int y, int width, int height)
{
    return XGetImage(display, root, x, y, (unsigned)width, (unsigned)height, AllPlanes, ZPixmap);
}

static void windows(void)
{
    Window parent, *list = NULL, back;
    unsigned count = 0;
    XQueryTree(display, root, &back, &parent, &list, &count);
    for (unsigned i = 0; i < count; i++) {
        XWindowAttributes a;
        XTextProperty title = { 0 };
        const Atom name = XInternAtom(display, "_NET_WM_NAME", False);
        if (!XGetWindowAttributes(display, list[i], &a) || a.map_state != IsViewable)
            continue;
        XGetTextProperty(display, list[i], &title, name);
        printf("%lu %d %d %d %d %s;", list[i], a.x, a.y, a.width, a.height,
               title.value ? (const char *)title.value : "");
        XFree(title.value);
    }
    XFree(list);
}

static void pixels(const char *places)
{
    const int width = DisplayWidth(display, 0), height = DisplayHeight(display, 0);
    XImage *image = look(0, 0, width, height);
    int x, y, read = 0;
    while (image && sscanf(places, " %d,%d%n", &x, &y, &read) == 2) {
        const bool inside = x >= 0 && y >= 0 && x < width && y < height;
        printf("%06lx ", inside ? XGetPixel(image, x, y) & 0xffffff : 0);
        places += read;
    }
    if (image)
        XDestroyImage(image);
}

static void sum(int x, int y, int width, int height)
{
    XImage *image = look(x, y, width, height);
    uint32_t hash = 2166136261u;
    for (int i = 0; image && i < width * height; i++)
        hash = (hash ^ (uint32_t)XGetPixel(image, i % width, i / width)) * 16777619u;
    printf("%08x", hash);
    if (image)
        XDestroyImage(image);
}

static void save(const char *path)
{
    const int width = DisplayWidth(display, 0), height = DisplayHeight(display, 0);
    XImage *image = look(0, 0, width, height);
    FILE *out = fopen(path, "wb");
    if (!image || !out)
        exit(1);
    fprintf(out, "P6\n%d %d\n255\n", width, height);
    for (int i = 0; i < width * height; i++) {
        const unsigned long p = XGetPixel(image, i % width, i / width);
        const uint8_t rgb[3] = { (uint8_t)(p >> 16), (uint8_t)(p >> 8), (uint8_t)p };
        fwrite(rgb, 1, 3, out);
    }
    fclose(out);
    XDestroyImage(image);
}

static void key(const char *name, bool down, bool up)
{
    const KeyCode code = XKeysymToKeycode(display, XStringToKeysym(name));
    if (down)
        XTestFakeKeyEvent(display, code, True, CurrentTime);
    if (up)
        XTestFakeKeyEvent(display, code, False, CurrentTime);
}

// As a window manager asks when somebody clicks on the cross.
static void ask_to_close(Window window)
{
    XEvent event = { .xclient = { .type = ClientMessage,
                                  .window = window,
                                  .message_type = XInternAtom(display, "WM_PROTOCOLS", False),
                                  .format = 32 } };
    event.xclient.data.l[0] = (long)XInternAtom(display, "WM_DELETE_WINDOW", False);
    XSendEvent(display, window, False, NoEventMask, &event);
}

static bool obey(const char *line)
{
    char name[1024];
    unsigned long id;
    int x, y, width, height;
    if (strcmp(line, "windows") == 0)
        windows();
    else if (strncmp(line, "pixels ", 7) == 0)
        pixels(line + 7);
    else if (sscanf(line, "sum %d %d %d %d", &x, &y, &width, &height) == 4)
        sum(x, y, width, height);
    else if (sscanf(line, "save %1023s", name) == 1)
        save(name);
    else if (sscanf(line, "move %d %d", &x, &y) == 2)
        XTestFakeMotionEvent(display, -1, x, y, CurrentTime);
    else if (sscanf(line, "press %d", &x) == 1)
        XTestFakeButtonEvent(display, (unsigned)x, True, CurrentTime);
    else if (sscanf(line, "release %d", &x) == 1)
        XTestFakeButtonEvent(display, (unsigned)x, False, CurrentTime);
    else if (sscanf(line, "keydown %1023s", name) == 1)
        key(name, true, false);
    else if (sscanf(line, "keyup %1023s", name) == 1)
        key(name, false, true);
    else if (sscanf(line, "key %1023s", name) == 1)
        key(name, true, true);
    else if (sscanf(line, "resize %lu %d %d", &id, &width, &height) == 3)
        XResizeWindow(display, id, (unsigned)width, (unsigned)height);
    else if (sscanf(line, "close %lu", &id) == 1)
        ask_to_close(id);
    else if (sscanf(line, "unmap %lu", &id) == 1)
        XUnmapWindow(display, id);
    else if (sscanf(line, "map %lu", &id) == 1)
        XMapWindow(display, id);
    else
        return false;
    XSync(display, False);
    return true;
}

// A window may go while it is looked at.
static int on_error(Display *where, XErrorEvent *event)
{
    (void)where;
    (void)event;
    return 0;
}

int main(void)
{
    char line[LINE_MAX_BYTES];
    display = XOpenDisplay(NULL);
    if (!display) {
        fprintf(stderr, "hand: no display\n");
        return 1;
    }
    XSetErrorHandler(on_error);
    root = DefaultRootWindow(display);
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (!obey(line))
            printf("? %s", line);
        printf("\n");
        fflush(stdout);
    }
    XCloseDisplay(display);
    return 0;
}

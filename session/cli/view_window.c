// SPDX-License-Identifier: MIT
#include "session/cli/view_window.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"

// A notch of the wheel in logical pixels, near what browsers make of it.
enum { NOTCH_PX = 100 };

static struct fw_view_window *of(GLFWwindow *handle)
{
    return glfwGetWindowUserPointer(handle);
}

// ---- events

static uint8_t held_mods(const struct fw_view_window *w)
{
    const bool *k = w->keys;
    return (uint8_t)((k[42] || k[54] ? FW_MOD_SHIFT : 0) | (k[29] || k[97] ? FW_MOD_CTRL : 0) |
                     (k[56] || k[100] ? FW_MOD_ALT : 0) | (k[125] || k[126] ? FW_MOD_META : 0));
}

static void send(struct fw_view_window *w, struct fw_wire_input event)
{
    event.valid = true;
    event.mods = held_mods(w);
    event.x = (float)w->x;
    event.y = (float)w->y;
    w->p.input(w->p.user, &event);
}

static struct fw_view_box box_of(const struct fw_view_window *w)
{
    return fw_view_fit(w->width, w->height, w->picture_width, w->picture_height);
}

// From the window's logical pixels to the picture's.
static void place(struct fw_view_window *w, double x, double y)
{
    const struct fw_view_box box = box_of(w);
    int logical_width, logical_height;
    glfwGetWindowSize(w->handle, &logical_width, &logical_height);
    if (logical_width <= 0 || logical_height <= 0 || w->picture_width <= 0)
        return;
    x = (x * w->width / logical_width - (double)box.x) * w->picture_width / (double)box.width;
    y = (y * w->height / logical_height - (double)box.y) * w->picture_height / (double)box.height;
    w->x = fmin(fmax(x, 0), w->picture_width - 1);
    w->y = fmin(fmax(y, 0), w->picture_height - 1);
}

static void on_motion(GLFWwindow *handle, double x, double y)
{
    struct fw_view_window *w = of(handle);
    const double before_x = w->x, before_y = w->y;
    place(w, x, y);
    const double dx = w->placed ? w->x - before_x : 0, dy = w->placed ? w->y - before_y : 0;
    if (w->placed && dx == 0 && dy == 0)
        return;
    w->placed = true;
    send(w, (struct fw_wire_input){ .kind = FW_INPUT_MOTION, .dx = (float)dx, .dy = (float)dy });
}

// GLFW counts left, right, middle; the DOM left, middle, right.
static int dom_button(int button)
{
    switch (button) {
    case GLFW_MOUSE_BUTTON_LEFT: return 0;
    case GLFW_MOUSE_BUTTON_MIDDLE: return 1;
    case GLFW_MOUSE_BUTTON_RIGHT: return 2;
    case GLFW_MOUSE_BUTTON_4: return 3;
    case GLFW_MOUSE_BUTTON_5: return 4;
    default: return -1;
    }
}

static void on_button(GLFWwindow *handle, int button, int action, int mods)
{
    struct fw_view_window *w = of(handle);
    const int code = dom_button(button);
    const bool down = action == GLFW_PRESS;
    double x, y;
    (void)mods;
    if (code < 0 || down == (bool)(w->buttons >> code & 1))
        return;
    // A press carries its own place: one motion before it puts it there.
    glfwGetCursorPos(handle, &x, &y);
    on_motion(handle, x, y);
    w->buttons ^= 1u << code;
    send(w,
         (struct fw_wire_input){ .kind = FW_INPUT_BUTTON, .state = down, .code = (uint16_t)code });
}

static void on_scroll(GLFWwindow *handle, double x, double y)
{
    struct fw_view_window *w = of(handle);
    const struct fw_view_box box = box_of(w);
    const double scale =
        box.width > 0 && w->picture_width > 0 ? w->ratio * w->picture_width / (double)box.width : 1;
    send(w, (struct fw_wire_input){ .kind = FW_INPUT_WHEEL,
                                    .dx = (float)(-x * NOTCH_PX * scale),
                                    .dy = (float)(-y * NOTCH_PX * scale) });
}

static void leave_fullscreen(struct fw_view_window *w)
{
    const int *place = w->windowed;
    glfwSetWindowMonitor(w->handle, NULL, place[0], place[1], place[2], place[3], GLFW_DONT_CARE);
}

// The monitor that shows most of the window.
static GLFWmonitor *monitor_of(GLFWwindow *handle)
{
    int count, x, y, width, height;
    GLFWmonitor **list = glfwGetMonitors(&count), *best = count ? list[0] : NULL;
    long most = -1;
    glfwGetWindowPos(handle, &x, &y);
    glfwGetWindowSize(handle, &width, &height);
    for (int i = 0; i < count; i++) {
        int mx, my;
        const GLFWvidmode *mode = glfwGetVideoMode(list[i]);
        glfwGetMonitorPos(list[i], &mx, &my);
        if (!mode)
            continue;
        const long across = fmin(x + width, mx + mode->width) - fmax(x, mx);
        const long down = fmin(y + height, my + mode->height) - fmax(y, my);
        const long area = across > 0 && down > 0 ? across * down : 0;
        if (area > most) {
            most = area;
            best = list[i];
        }
    }
    return best;
}

static void toggle_fullscreen(struct fw_view_window *w)
{
    if (glfwGetWindowMonitor(w->handle)) {
        leave_fullscreen(w);
        return;
    }
    GLFWmonitor *monitor = monitor_of(w->handle);
    const GLFWvidmode *mode = monitor ? glfwGetVideoMode(monitor) : NULL;
    if (!mode)
        return;
    glfwGetWindowPos(w->handle, &w->windowed[0], &w->windowed[1]);
    glfwGetWindowSize(w->handle, &w->windowed[2], &w->windowed[3]);
    glfwSetWindowMonitor(w->handle, monitor, 0, 0, mode->width, mode->height, mode->refreshRate);
}

// Keys that are the viewer's, as they are the page's. True: it was one.
static bool own_key(struct fw_view_window *w, int key, int mods)
{
    if (mods & (GLFW_MOD_SHIFT | GLFW_MOD_CONTROL | GLFW_MOD_ALT | GLFW_MOD_SUPER))
        return false;
    if (key == GLFW_KEY_F1)
        w->help_presses++;
    else if (key == GLFW_KEY_F2)
        w->hud_presses++;
    else if (key == GLFW_KEY_F11)
        toggle_fullscreen(w);
    else
        return false;
    return true;
}

static void on_key(GLFWwindow *handle, int key, int scancode, int action, int mods)
{
    struct fw_view_window *w = of(handle);
    const int code = fw_view_key_code(key);
    const bool down = action != GLFW_RELEASE;
    (void)scancode;
    if (action == GLFW_REPEAT || !code || w->keys[code] == down)
        return;
    if (down && own_key(w, key, mods))
        return;
    w->keys[code] = down;
    send(w, (struct fw_wire_input){ .kind = FW_INPUT_KEY, .state = down, .code = (uint16_t)code });
}

void fw_view_window_forget(struct fw_view_window *w)
{
    memset(w->keys, 0, sizeof(w->keys));
    w->buttons = 0;
}

static void on_focus(GLFWwindow *handle, int focused)
{
    struct fw_view_window *w = of(handle);
    bool held = w->buttons != 0;
    for (size_t i = 0; i < sizeof(w->keys); i++)
        held |= w->keys[i];
    if (focused || !held)
        return;
    fw_view_window_forget(w);
    send(w, (struct fw_wire_input){ .kind = FW_INPUT_RELEASE });
}

// ---- the window

static void measure(struct fw_view_window *w)
{
    int logical;
    float across = 1, down = 1;
    glfwGetFramebufferSize(w->handle, &w->width, &w->height);
    glfwGetWindowSize(w->handle, &logical, NULL);
    glfwGetWindowContentScale(w->handle, &across, &down);
    // Where the window is counted in device pixels already, the scale tells how large these are.
    w->ratio = logical > 0 && w->width > logical ? (double)w->width / logical : (double)across;
    if (!(w->ratio > 0))
        w->ratio = 1;
}

static void on_size(GLFWwindow *handle, int width, int height)
{
    struct fw_view_window *w = of(handle);
    (void)width;
    (void)height;
    measure(w);
    w->resized = true;
}

static void on_refresh(GLFWwindow *handle)
{
    of(handle)->exposed = true;
}

static void on_iconify(GLFWwindow *handle, int iconified)
{
    of(handle)->hidden = iconified;
    of(handle)->exposed = true;
}

static void on_close(GLFWwindow *handle)
{
    of(handle)->closed = true;
}

static void listen(struct fw_view_window *w)
{
    glfwSetWindowUserPointer(w->handle, w);
    glfwSetCursorPosCallback(w->handle, on_motion);
    glfwSetMouseButtonCallback(w->handle, on_button);
    glfwSetScrollCallback(w->handle, on_scroll);
    glfwSetKeyCallback(w->handle, on_key);
    glfwSetWindowFocusCallback(w->handle, on_focus);
    glfwSetFramebufferSizeCallback(w->handle, on_size);
    glfwSetWindowRefreshCallback(w->handle, on_refresh);
    glfwSetWindowIconifyCallback(w->handle, on_iconify);
    glfwSetWindowCloseCallback(w->handle, on_close);
}

static void no_display(struct fw_view_window *w)
{
    const char *text = NULL;
    glfwGetError(&text);
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
        snprintf(w->why, sizeof(w->why),
                 "there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set; run it in a "
                 "desktop session, or under `xvfb-run`");
    else
        snprintf(w->why, sizeof(w->why), "the display can't be opened (DISPLAY=%.60s): %.120s",
                 getenv("DISPLAY") ? getenv("DISPLAY") : "", text ? text : "no reason given");
}

enum fw_err fw_view_window_create(struct fw_view_window *w,
                                  const struct fw_view_window_params *params)
{
    *w = (struct fw_view_window){ .p = *params, .ratio = 1 };
    if (!glfwInit()) {
        no_display(w);
        return FW_ERR_UNSUPPORTED;
    }
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);
    glfwWindowHintString(GLFW_X11_CLASS_NAME, "framewire");
    glfwWindowHintString(GLFW_X11_INSTANCE_NAME, "framewire-view");
    w->handle = glfwCreateWindow(params->width, params->height, "framewire", NULL, NULL);
    if (!w->handle) {
        no_display(w);
        glfwTerminate();
        return FW_ERR_UNSUPPORTED;
    }
    listen(w);
    measure(w);
    return FW_OK;
}

void fw_view_window_show(struct fw_view_window *w)
{
    glfwShowWindow(w->handle);
    if (w->p.fullscreen)
        toggle_fullscreen(w);
    measure(w);
}

void fw_view_window_destroy(struct fw_view_window *w)
{
    if (w->handle)
        glfwDestroyWindow(w->handle);
    w->handle = NULL;
    glfwTerminate();
}

void fw_view_window_wait(struct fw_view_window *w, double seconds)
{
    (void)w;
    if (seconds > 0)
        glfwWaitEventsTimeout(seconds);
    else
        glfwPollEvents();
}

void fw_view_window_wake(void)
{
    glfwPostEmptyEvent();
}

void fw_view_window_title(struct fw_view_window *w, const char *title)
{
    glfwSetWindowTitle(w->handle, title);
}

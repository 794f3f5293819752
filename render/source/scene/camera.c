// SPDX-License-Identifier: MIT
#include "render/source/scene/camera.h"

#include <cglm/cglm.h>
#include <cglm/clipspace/persp_rh_zo.h>
#include <linux/input-event-codes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"

// Vertical opening; a long lens flatters objects.
#define FOV              0.56f
#define PITCH_LIMIT      1.55f
#define HOME_YAW         0.62f
#define HOME_PITCH       0.26f
#define ORBIT_PER_HEIGHT 3.6f   // radians for a drag over the whole height
#define HELD_ORBIT       1.6f   // radians per second while held
#define HELD_ZOOM        1.2f   // e-folds per second
#define HELD_PAN         0.6f   // picture heights per second
#define TURN_RATE        0.35f  // radians per second
#define SETTLE_S         0.055f // time constant of the glide behind wheel and keys
#define TAP_S            0.08f  // a tap moves as if held this long

static float clamp(float v, float low, float high)
{
    return v < low ? low : v > high ? high : v;
}

static float aspect_of(const struct fw_camera *camera)
{
    return (float)camera->width / (float)(camera->height > 0 ? camera->height : 1);
}

// Right and up of the picture in world space.
static void picture_axes(const struct fw_camera_pose *pose, vec3 right, vec3 up)
{
    float sy = sinf(pose->yaw), cy = cosf(pose->yaw);
    float sp = sinf(pose->pitch), cp = cosf(pose->pitch);
    glm_vec3_copy((vec3){ cy, 0, -sy }, right);
    glm_vec3_copy((vec3){ -sp * sy, cp, -sp * cy }, up);
}

// The nearest distance from which the box fits, seen from home. Corners count as they stand; a
// turntable sweeps an ellipse, which counts all round.
static float framing_distance(const struct fw_camera *camera)
{
    float tall = tanf(FOV / 2), wide = tall * aspect_of(camera), most = 0;
    vec3 right, up, back;
    picture_axes(&camera->home, right, up);
    glm_vec3_cross(right, up, back);
    for (int i = 0; i < 48; i++) {
        float a = (float)(i >> 1) * (2 * GLM_PIf / 16), y = i & 1 ? 1 : -1;
        vec3 p = { cosf(a) * camera->half[0], y * camera->half[1], sinf(a) * camera->half[2] };
        if (i >= 32) { // the corners, each twice
            p[0] = i & 2 ? camera->half[0] : -camera->half[0];
            p[2] = i & 4 ? camera->half[2] : -camera->half[2];
        }
        float depth = glm_vec3_dot(p, back);
        most = fmaxf(most, fabsf(glm_vec3_dot(p, right)) / wide + depth);
        most = fmaxf(most, fabsf(glm_vec3_dot(p, up)) / tall + depth);
    }
    return fmaxf(most * 1.12f, camera->radius * 0.1f);
}

static void limit(const struct fw_camera *camera, struct fw_camera_pose *pose)
{
    pose->pitch = clamp(pose->pitch, -PITCH_LIMIT, PITCH_LIMIT);
    pose->distance = clamp(pose->distance, camera->radius * 0.02f, camera->radius * 40);
    for (int i = 0; i < 3; i++)
        pose->target[i] = clamp(pose->target[i], camera->centre[i] - camera->radius * 10,
                                camera->centre[i] + camera->radius * 10);
}

void fw_camera_init(struct fw_camera *camera, const float min[3], const float max[3], int width,
                    int height)
{
    *camera = (struct fw_camera){ .width = width, .height = height, .dirty = true };
    float sum = 0;
    for (int i = 0; i < 3; i++) {
        float low = min[i], high = max[i];
        if (!isfinite(low) || !isfinite(high) || high < low)
            low = high = 0;
        camera->centre[i] = low + (high - low) / 2;
        camera->half[i] = (high - low) / 2;
        sum += (high - low) * (high - low);
    }
    camera->radius = sqrtf(sum) / 2;
    if (!isfinite(camera->radius) || camera->radius < 1e-12f)
        camera->radius = camera->half[0] = camera->half[1] = camera->half[2] = 1;
    camera->home.yaw = HOME_YAW;
    camera->home.pitch = HOME_PITCH;
    memcpy(camera->home.target, camera->centre, sizeof(camera->centre));
    camera->home.distance = framing_distance(camera);
    camera->goal = camera->shown = camera->home;
}

void fw_camera_resize(struct fw_camera *camera, int width, int height)
{
    if (width < 1 || height < 1)
        return;
    float before = camera->home.distance;
    camera->width = width;
    camera->height = height;
    camera->home.distance = framing_distance(camera);
    float factor = camera->home.distance / before;
    camera->goal.distance *= factor;
    camera->shown.distance *= factor;
    camera->dirty = true;
}

static void pose_pan(struct fw_camera_pose *pose, float dx, float dy)
{
    // dx, dy in picture heights: what lies at the target follows the pointer.
    float scale = 2 * tanf(FOV / 2) * pose->distance;
    vec3 right, up;
    picture_axes(pose, right, up);
    glm_vec3_muladds(right, -dx * scale, pose->target);
    glm_vec3_muladds(up, dy * scale, pose->target);
}

// Both poses move: what the hand holds must not lag behind it.
static void drag_orbit(struct fw_camera *camera, float dx, float dy)
{
    float scale = ORBIT_PER_HEIGHT / (float)camera->height;
    struct fw_camera_pose *poses[] = { &camera->goal, &camera->shown };
    for (int i = 0; i < 2; i++) {
        poses[i]->yaw -= dx * scale;
        poses[i]->pitch += dy * scale;
        limit(camera, poses[i]);
    }
    camera->dirty = true;
}

static void drag_pan(struct fw_camera *camera, float dx, float dy)
{
    struct fw_camera_pose *poses[] = { &camera->goal, &camera->shown };
    for (int i = 0; i < 2; i++) {
        pose_pan(poses[i], dx / (float)camera->height, dy / (float)camera->height);
        limit(camera, poses[i]);
    }
    camera->dirty = true;
}

static void drag_zoom(struct fw_camera *camera, float factor)
{
    if (!isfinite(factor) || factor <= 0)
        return;
    camera->goal.distance *= factor;
    camera->shown.distance *= factor;
    limit(camera, &camera->goal);
    limit(camera, &camera->shown);
    camera->dirty = true;
}

static void input_motion(struct fw_camera *camera, const struct fw_input_event *event)
{
    float dx = event->dx, dy = event->dy;
    if (!isfinite(dx) || !isfinite(dy))
        return;
    bool left = camera->buttons & 1, middle = camera->buttons & 2, right = camera->buttons & 4;
    if (middle || right || (left && (event->mods & FW_MOD_SHIFT)))
        drag_pan(camera, dx, dy);
    else if (left)
        drag_orbit(camera, dx, dy);
}

static unsigned touches_down(const struct fw_camera *camera, int slots[2])
{
    unsigned count = 0;
    for (int i = 0; i < FW_CAMERA_TOUCHES; i++) {
        if (!camera->touch[i].down)
            continue;
        if (count < 2)
            slots[count] = i;
        count++;
    }
    return count;
}

static void touch_move(struct fw_camera *camera, unsigned slot, float x, float y)
{
    int slots[2] = { 0, 0 };
    unsigned count = touches_down(camera, slots);
    float dx = x - camera->touch[slot].x, dy = y - camera->touch[slot].y;
    if (count == 1) {
        drag_orbit(camera, dx, dy);
    } else if (count >= 2 && ((int)slot == slots[0] || (int)slot == slots[1])) {
        unsigned other = (unsigned)((int)slot == slots[0] ? slots[1] : slots[0]);
        float ox = camera->touch[other].x, oy = camera->touch[other].y;
        float before = hypotf(camera->touch[slot].x - ox, camera->touch[slot].y - oy);
        float after = hypotf(x - ox, y - oy);
        drag_pan(camera, dx / 2, dy / 2);
        if (before > 4 && after > 4)
            drag_zoom(camera, before / after);
    }
    camera->touch[slot].x = x;
    camera->touch[slot].y = y;
}

static void input_touch(struct fw_camera *camera, const struct fw_input_event *event)
{
    if (event->code >= FW_CAMERA_TOUCHES || !isfinite(event->x) || !isfinite(event->y))
        return;
    switch (event->state) {
    case FW_TOUCH_DOWN:
        camera->touch[event->code].down = true;
        camera->touch[event->code].x = event->x;
        camera->touch[event->code].y = event->y;
        break;
    case FW_TOUCH_MOVE:
        if (camera->touch[event->code].down)
            touch_move(camera, event->code, event->x, event->y);
        break;
    default: camera->touch[event->code].down = false; break;
    }
}

static void apply_keys(const struct fw_camera *camera, uint32_t keys, float seconds,
                       struct fw_camera_pose *pose)
{
    float x = 0, y = 0, zoom = 0, pan_x = 0, pan_y = 0;
    const struct {
        float *axis;
        float sign;
    } effect[FW_CAMERA_KEY_COUNT] = {
        { &x, -1 },   { &x, 1 },     { &y, 1 },      { &y, -1 },    { &zoom, -1 },
        { &zoom, 1 }, { &pan_x, 1 }, { &pan_x, -1 }, { &pan_y, 1 }, { &pan_y, -1 },
    };
    for (int i = 0; i < FW_CAMERA_KEY_COUNT; i++)
        if (keys & (1u << i))
            *effect[i].axis += effect[i].sign;
    pose->yaw += x * HELD_ORBIT * seconds;
    pose->pitch += y * HELD_ORBIT * seconds;
    pose->distance *= expf(zoom * HELD_ZOOM * seconds);
    pose_pan(pose, pan_x * HELD_PAN * seconds, pan_y * HELD_PAN * seconds);
    limit(camera, pose);
}

static int key_of(uint16_t code)
{
    switch (code) {
    case KEY_LEFT: return FW_CAMERA_LEFT;
    case KEY_RIGHT: return FW_CAMERA_RIGHT;
    case KEY_UP: return FW_CAMERA_UP;
    case KEY_DOWN: return FW_CAMERA_DOWN;
    case KEY_EQUAL:
    case KEY_KPPLUS: return FW_CAMERA_IN;
    case KEY_MINUS:
    case KEY_KPMINUS: return FW_CAMERA_OUT;
    case KEY_A: return FW_CAMERA_PAN_LEFT;
    case KEY_D: return FW_CAMERA_PAN_RIGHT;
    case KEY_W: return FW_CAMERA_PAN_UP;
    case KEY_S: return FW_CAMERA_PAN_DOWN;
    default: return -1;
    }
}

// The short way home, however often the model went round.
static void go_home(struct fw_camera *camera)
{
    float turns = roundf((camera->shown.yaw - camera->home.yaw) / (2 * GLM_PIf));
    camera->goal = camera->home;
    camera->goal.yaw += turns * 2 * GLM_PIf;
    camera->dirty = true;
}

static void input_key(struct fw_camera *camera, const struct fw_input_event *event)
{
    int key = key_of(event->code);
    if (key >= 0) {
        uint32_t bit = 1u << key;
        if (event->state && !(camera->keys & bit)) {
            camera->keys |= bit;
            apply_keys(camera, bit, TAP_S, &camera->goal);
        } else if (!event->state) {
            camera->keys &= ~bit;
        }
        camera->dirty = true;
        return;
    }
    if (!event->state)
        return;
    switch (event->code) {
    case KEY_R:
    case KEY_HOME: go_home(camera); break;
    case KEY_T:
        camera->turntable = !camera->turntable;
        camera->dirty = true;
        break;
    case KEY_G:
        camera->grid = !camera->grid;
        camera->dirty = true;
        break;
    default: break;
    }
}

static void input_release(struct fw_camera *camera)
{
    camera->buttons = 0;
    camera->keys = 0;
    for (int i = 0; i < FW_CAMERA_TOUCHES; i++)
        camera->touch[i].down = false;
}

void fw_camera_input(struct fw_camera *camera, const struct fw_input_event *event)
{
    switch (event->kind) {
    case FW_INPUT_MOTION: input_motion(camera, event); break;
    case FW_INPUT_BUTTON:
        if (event->code < 8 && event->state)
            camera->buttons |= 1u << event->code;
        else if (event->code < 8)
            camera->buttons &= ~(1u << event->code);
        break;
    case FW_INPUT_WHEEL:
        if (isfinite(event->dy) && event->dy != 0) {
            camera->goal.distance *= expf(clamp(event->dy, -600, 600) * 0.0015f);
            limit(camera, &camera->goal);
            camera->dirty = true;
        }
        break;
    case FW_INPUT_KEY: input_key(camera, event); break;
    case FW_INPUT_TOUCH: input_touch(camera, event); break;
    case FW_INPUT_RELEASE: input_release(camera); break;
    default: break;
    }
}

// Moves `shown` towards `goal`; returns false once it is there.
static bool settle(struct fw_camera *camera, float seconds)
{
    struct fw_camera_pose *s = &camera->shown, *g = &camera->goal;
    float k = 1 - expf(-seconds / SETTLE_S);
    float off = fabsf(g->yaw - s->yaw) + fabsf(g->pitch - s->pitch) +
                fabsf(g->distance / s->distance - 1) +
                glm_vec3_distance(g->target, s->target) / s->distance;
    if (off < 1e-3f) {
        bool moved = memcmp(s, g, sizeof(*s)) != 0;
        *s = *g;
        return moved;
    }
    s->yaw += (g->yaw - s->yaw) * k;
    s->pitch += (g->pitch - s->pitch) * k;
    s->distance *= powf(g->distance / s->distance, k);
    glm_vec3_lerp(s->target, g->target, k, s->target);
    return true;
}

bool fw_camera_wants_step(const struct fw_camera *camera)
{
    return camera->dirty || camera->running || camera->turntable || camera->keys;
}

bool fw_camera_step(struct fw_camera *camera, int64_t now_ns)
{
    // After a rest the time since the last step says nothing; take one frame at 60 Hz.
    float seconds = (float)(now_ns - camera->last_ns) / FW_NS_PER_S;
    if (!camera->running || seconds < 0)
        seconds = 1 / 60.0f;
    else if (seconds > 0.1f)
        seconds = 0.1f;
    camera->last_ns = now_ns;

    bool changed = camera->dirty;
    camera->dirty = false;
    if (camera->keys) {
        apply_keys(camera, camera->keys, seconds, &camera->goal);
        changed = true;
    }
    if (settle(camera, seconds))
        changed = true;
    if (camera->turntable) {
        camera->turn = fmodf(camera->turn + TURN_RATE * seconds, 2 * GLM_PIf);
        changed = true;
    }
    camera->running = camera->keys || camera->turntable ||
                      memcmp(&camera->shown, &camera->goal, sizeof(camera->goal)) != 0;
    return changed;
}

// Distances count from home, which depends on the picture's shape. No room for padding in it.
struct saved {
    uint8_t version, turntable, grid, reserved;
    float yaw, pitch, distance, target[3], turn;
};

enum { SAVED_VERSION = 1 };

size_t fw_camera_save(const struct fw_camera *camera, void *out, size_t room)
{
    const struct fw_camera_pose *pose = &camera->goal;
    const struct saved saved = {
        .version = SAVED_VERSION,
        .turntable = camera->turntable,
        .grid = camera->grid,
        .yaw = pose->yaw,
        .pitch = pose->pitch,
        .distance = pose->distance / camera->home.distance,
        .target = { pose->target[0], pose->target[1], pose->target[2] },
        .turn = camera->turn,
    };
    if (room < sizeof(saved))
        return 0;
    memcpy(out, &saved, sizeof(saved));
    return sizeof(saved);
}

bool fw_camera_restore(struct fw_camera *camera, const void *data, size_t size)
{
    struct saved saved;
    if (size != sizeof(saved))
        return false;
    memcpy(&saved, data, sizeof(saved));
    // Comparisons that are false for what is no number.
    if (saved.version != SAVED_VERSION || saved.turntable > 1 || saved.grid > 1 ||
        !(fabsf(saved.yaw) < 1e4f) || !(fabsf(saved.pitch) < 4) || !(fabsf(saved.turn) < 8) ||
        !(saved.distance > 0) || !isfinite(saved.distance) || !isfinite(saved.target[0]) ||
        !isfinite(saved.target[1]) || !isfinite(saved.target[2]))
        return false;
    struct fw_camera_pose pose = {
        .yaw = saved.yaw,
        .pitch = saved.pitch,
        .distance = saved.distance * camera->home.distance,
        .target = { saved.target[0], saved.target[1], saved.target[2] },
    };
    limit(camera, &pose);
    camera->goal = camera->shown = pose;
    camera->turntable = saved.turntable;
    camera->grid = saved.grid;
    camera->turn = saved.turn;
    camera->dirty = true;
    return true;
}

void fw_camera_matrices(const struct fw_camera *camera, mat4 view, mat4 projection, vec3 eye)
{
    const struct fw_camera_pose *pose = &camera->shown;
    float cp = cosf(pose->pitch);
    vec3 back = { cp * sinf(pose->yaw), sinf(pose->pitch), cp * cosf(pose->yaw) };
    vec3 target;
    glm_vec3_copy((float *)pose->target, target);
    glm_vec3_copy(target, eye);
    glm_vec3_muladds(back, pose->distance, eye);
    glm_lookat_rh(eye, target, (vec3){ 0, 1, 0 }, view);

    // The planes hug the model, so that D32 is never short of depth.
    float reach = glm_vec3_distance(eye, (float *)camera->centre) + camera->radius * 8;
    float near =
        pose->distance - glm_vec3_distance(target, (float *)camera->centre) - camera->radius * 1.5f;
    float floor_near = reach * 5e-4f;
    if (near < floor_near)
        near = pose->distance * 0.02f > floor_near ? floor_near : pose->distance * 0.02f;
    glm_perspective_rh_zo(FOV, aspect_of(camera), near, reach, projection);
    projection[1][1] = -projection[1][1];
}

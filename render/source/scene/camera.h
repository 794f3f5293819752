// SPDX-License-Identifier: MIT
// The orbit camera: pure logic, time and events are arguments. Y is up; yaw 0 looks along -Z.
#pragma once

#include <cglm/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/input.h"

enum fw_camera_key {
    FW_CAMERA_LEFT,
    FW_CAMERA_RIGHT,
    FW_CAMERA_UP,
    FW_CAMERA_DOWN,
    FW_CAMERA_IN,
    FW_CAMERA_OUT,
    FW_CAMERA_PAN_LEFT,
    FW_CAMERA_PAN_RIGHT,
    FW_CAMERA_PAN_UP,
    FW_CAMERA_PAN_DOWN,
    FW_CAMERA_KEY_COUNT,
};

enum { FW_CAMERA_TOUCHES = 10 };

struct fw_camera_pose {
    float yaw, pitch; // radians; pitch > 0 looks down from above
    float distance;   // from target to eye
    vec3 target;
};

// Thread: the owner's. Fields are read-only outside camera.c, except `turntable`.
struct fw_camera {
    struct fw_camera_pose home, goal, shown;
    vec3 centre;     // of the model
    float half[3];   // half its box
    float radius;    // of the sphere around the model
    float turn;      // radians the turntable has turned the model about Y
    bool turntable;  // turning
    bool grid;       // ground grid wanted
    bool dirty;      // something changed since the last step
    bool running;    // the last step left something moving
    int64_t last_ns; // of the last step
    uint32_t buttons;
    uint32_t keys; // bits of enum fw_camera_key that are held
    struct {
        bool down;
        float x, y;
    } touch[FW_CAMERA_TOUCHES];
    int width, height;
};

// Frames the box [min, max] in a picture of width x height. Empty boxes become a unit box.
void fw_camera_init(struct fw_camera *camera, const float min[3], const float max[3], int width,
                    int height);
// A new picture size: keeps the pose, and the framing when the pose is the first one.
void fw_camera_resize(struct fw_camera *camera, int width, int height);
void fw_camera_input(struct fw_camera *camera, const struct fw_input_event *event);
// Moves on to `now_ns`. Returns true when the picture differs from the step before.
bool fw_camera_step(struct fw_camera *camera, int64_t now_ns);
// Would a step change the picture? `*animating`: the turntable turns.
bool fw_camera_wants_step(const struct fw_camera *camera);
// Where it is, or is on its way to, for another camera on the same model: bytes written, 0 = no
// room.
size_t fw_camera_save(const struct fw_camera *camera, void *out, size_t room);
// Goes there at once, whatever the sizes of the two pictures. False, with nothing changed: those
// bytes are of another version or make no sense.
bool fw_camera_restore(struct fw_camera *camera, const void *data, size_t size);
// Matrices for Vulkan: depth 0-1, y down in clip space.
void fw_camera_matrices(const struct fw_camera *camera, mat4 view, mat4 projection, vec3 eye);

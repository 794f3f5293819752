#version 450
#extension GL_GOOGLE_include_directive : require
// SPDX-License-Identifier: MIT
// The square on the ground that carries the shadow (and, when asked for, a grid).
#include "scene_frame.glsl"

layout(location = 0) out vec2 uv;
layout(location = 1) out vec2 ground; // world x, z over the half size

void main()
{
    const vec2 corner[6] = vec2[](vec2(-1, -1), vec2(-1, 1), vec2(1, -1), vec2(1, -1), vec2(-1, 1),
                                  vec2(1, 1));
    float size = frame.ground_turn.z > 0.5 ? 3.0 : 1.0;
    vec2 p = corner[gl_VertexIndex] * size;
    uv = p * 0.5 + 0.5;
    ground = p;
    vec2 off = p * frame.ground.w;
    float c = frame.ground_turn.x, s = frame.ground_turn.y;
    vec3 world = frame.ground.xyz + vec3(c * off.x + s * off.y, 0.0, c * off.y - s * off.x);
    gl_Position = frame.view_projection * vec4(world, 1.0);
}

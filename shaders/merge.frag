#version 450
#extension GL_GOOGLE_include_directive : require
// SPDX-License-Identifier: MIT
// Output merge, base layer: scale (the sampler filters) and, for scene-linear layers, tone map.
#include "tonemap.glsl"

layout(constant_id = 0) const bool scene_linear = true;
layout(set = 0, binding = 0) uniform sampler2D layer;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;

void main()
{
    vec3 c = textureLod(layer, uv, 0.0).rgb;
    color = vec4(scene_linear ? fw_display(c) : c, 1.0);
}

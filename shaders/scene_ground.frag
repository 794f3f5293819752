#version 450
#extension GL_GOOGLE_include_directive : require
// SPDX-License-Identifier: MIT
#include "scene_frame.glsl"

layout(set = 0, binding = 2) uniform sampler2D shadow;
layout(location = 0) in vec2 uv;
layout(location = 1) in vec2 ground;
layout(location = 0) out vec4 color;

void main()
{
    float dark = texture(shadow, uv).r * 0.92;
    color = vec4(vec3(0.012), dark);
    if (frame.ground_turn.z > 0.5) {
        vec2 cell = ground * 5.0;
        vec2 line = abs(fract(cell - 0.5) - 0.5) / max(fwidth(cell), vec2(1e-5));
        float on = (1.0 - min(min(line.x, line.y), 1.0)) *
                   (1.0 - smoothstep(1.0, 3.0, length(ground)));
        color = mix(color, vec4(vec3(0.75), 0.5), on * (1.0 - dark));
    }
}

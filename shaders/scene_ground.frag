#version 450
#extension GL_GOOGLE_include_directive : require
// SPDX-License-Identifier: MIT
#include "scene_frame.glsl"

layout(constant_id = 0) const bool tone_mapped = true;
layout(set = 0, binding = 2) uniform sampler2D shadow;
layout(location = 0) in vec2 uv;
layout(location = 1) in vec2 ground;
layout(location = 0) out vec4 color;

void main()
{
    float dark = texture(shadow, uv).r * 0.92;
    float black = 0.012;
    // Chosen as it looks on the screen, like the backdrop: as much darker in scene-linear values,
    // from which the tone map takes about 0.04 away.
    if (!tone_mapped) {
        dark = 1.0 - pow(1.0 - dark, 2.2);
        black = 0.036;
    }
    color = vec4(vec3(black), dark);
    if (frame.ground_turn.z > 0.5) {
        vec2 cell = ground * 5.0;
        vec2 line = abs(fract(cell - 0.5) - 0.5) / max(fwidth(cell), vec2(1e-5));
        float on = (1.0 - min(min(line.x, line.y), 1.0)) *
                   (1.0 - smoothstep(1.0, 3.0, length(ground)));
        color = mix(color, vec4(vec3(0.75), 0.5), on * (1.0 - dark));
    }
}

#version 450
// SPDX-License-Identifier: MIT
// A seamless paper backdrop with a pool of light. Chosen as it looks on the screen; a scene-linear
// target gets what the tone map turns into just that.
layout(constant_id = 0) const bool tone_mapped = true;
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 color;

// The way back through fw_display (shaders/tonemap.glsl), below its shoulder.
vec3 undo_display(vec3 c)
{
    c = mix(pow((c + 0.055) / 1.055, vec3(2.4)), c / 12.92, lessThan(c, vec3(0.04045)));
    float low = min(c.r, min(c.g, c.b));
    return c + (low < 0.04 ? sqrt(low / 6.25) - low : 0.04);
}

void main()
{
    vec2 p = at * vec2(0.80, 0.88) - vec2(0.0, 0.06);
    float d = min(dot(p, p), 1.5);
    vec3 c = mix(vec3(0.545, 0.555, 0.575), vec3(0.185, 0.192, 0.212), d * (1.3333 - 0.4444 * d));
    // Half a level of fixed noise, so that the gradient has no steps.
    float noise = fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715))));
    c += (noise - 0.5) / 255.0;
    color = vec4(tone_mapped ? c : undo_display(c), 1.0);
}

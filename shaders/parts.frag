#version 450
// SPDX-License-Identifier: MIT
// See parts.vert: as much work at each pixel as one asks for.
layout(push_constant) uniform Push
{
    uint vertex_loops, fragment_loops;
    float size;
};
layout(location = 0) in float seed;
layout(location = 0) out vec4 color;

void main()
{
    float x = seed + gl_FragCoord.x * 0.01;
    for (uint i = 0; i < fragment_loops; i++)
        x = fract(x * 1.37 + 0.21);
    color = vec4(x, x, x, 1.0);
}

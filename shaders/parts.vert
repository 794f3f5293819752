#version 450
// SPDX-License-Identifier: MIT
// For the calibration of render/gpu_parts.c: as much work at each corner as one asks for.
layout(push_constant) uniform Push
{
    uint vertex_loops, fragment_loops;
    float size; // of the triangle: 4 covers the whole target, 0 nothing
};
layout(location = 0) out float seed;

void main()
{
    float x = float(gl_VertexIndex) * 0.001;
    for (uint i = 0; i < vertex_loops; i++)
        x = fract(x * 1.37 + 0.21);
    seed = x;
    vec2 corner = vec2(gl_VertexIndex % 3 == 1, gl_VertexIndex % 3 == 2);
    gl_Position = vec4(corner * size - 1.0, 0.0, 1.0 + x * 1e-6);
}

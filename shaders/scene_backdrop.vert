#version 450
// SPDX-License-Identifier: MIT
// One triangle behind everything.
layout(location = 0) out vec2 at; // -1..1, y down

void main()
{
    at = vec2((gl_VertexIndex << 1) & 2, gl_VertexIndex & 2) * 2.0 - 1.0;
    gl_Position = vec4(at, 1.0, 1.0);
}

#version 450
// SPDX-License-Identifier: MIT
layout(push_constant) uniform Push
{
    vec2 scale; // pixels to clip space
};
layout(location = 0) in vec2 position; // pixels, y down
layout(location = 1) in vec4 vertex_color;
layout(location = 0) out vec4 color;

void main()
{
    color = vertex_color;
    gl_Position = vec4(position * scale - 1.0, 0.0, 1.0);
}

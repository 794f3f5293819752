#version 450
// SPDX-License-Identifier: MIT
layout(location = 0) in vec4 color; // sRGB-encoded already
layout(location = 0) out vec4 result;

void main()
{
    result = color;
}

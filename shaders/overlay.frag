#version 450
// SPDX-License-Identifier: MIT
layout(set = 0, binding = 0) uniform sampler2D picture; // sRGB-encoded, straight alpha
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;

void main()
{
    color = textureLod(picture, uv, 0.0);
}

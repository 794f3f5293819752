#version 450
// SPDX-License-Identifier: MIT
// A picture laid over the output at a rectangle given in clip space.
layout(push_constant) uniform Push
{
    vec4 rect; // left, top, right, bottom
};
layout(location = 0) out vec2 uv;

void main()
{
    uv = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
    gl_Position = vec4(mix(rect.xy, rect.zw, uv), 0.0, 1.0);
}

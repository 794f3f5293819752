#version 450
// SPDX-License-Identifier: MIT
// The native viewer's picture: planes of a decoder, BT.709, to RGB as screens take it.
layout(push_constant) uniform Push
{
    layout(offset = 16) vec2 crop; // what of the planes is picture: true size / coded size
    float luma_base, luma_scale;   // of the range: 16/255 and 255/219, or 0 and 1
    float chroma_scale;            // 255/224, or 1
    int interleaved;               // 1: Cb and Cr share plane 1 (NV12)
};
layout(set = 0, binding = 0) uniform sampler2D plane_y;
layout(set = 0, binding = 1) uniform sampler2D plane_cb;
layout(set = 0, binding = 2) uniform sampler2D plane_cr;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;

void main()
{
    vec2 at = uv * crop;
    vec2 cb = textureLod(plane_cb, at, 0.0).rg;
    float cr = interleaved != 0 ? cb.g : textureLod(plane_cr, at, 0.0).r;
    float y = (textureLod(plane_y, at, 0.0).r - luma_base) * luma_scale;
    vec2 c = (vec2(cb.r, cr) - 128.0 / 255.0) * chroma_scale;
    vec3 rgb = y + vec3(1.5748 * c.y, -0.1873 * c.x - 0.4681 * c.y, 1.8556 * c.x);
    color = vec4(clamp(rgb, 0.0, 1.0), 1.0);
}

#version 450
// SPDX-License-Identifier: MIT
// RGB to NV12, BT.709 limited range: each invocation makes 4x2 luma and 2 chroma pairs, so that
// every store is one whole word. What lies beyond the picture repeats its edge.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D picture;
layout(set = 0, binding = 1, std430) writeonly buffer Planes
{
    uint word[];
};
layout(push_constant) uniform Push
{
    ivec2 size;       // true size in pixels
    int blocks_x;     // ceil(width / 4)
    int blocks_y;     // ceil(height / 2)
    uint stride;      // of both planes, in words
    uint chroma_base; // word index of plane 1
};

vec3 fetch(int x, int y)
{
    return texelFetch(picture, min(ivec2(x, y), size - 1), 0).rgb;
}

uint luma(vec3 c)
{
    return uint(16.5 + 219.0 * dot(c, vec3(0.2126, 0.7152, 0.0722)));
}

uvec2 chroma(vec3 sum)
{
    vec3 c = sum * 0.25;
    float y = dot(c, vec3(0.2126, 0.7152, 0.0722));
    return uvec2(128.5 + 224.0 * vec2((c.b - y) / 1.8556, (c.r - y) / 1.5748));
}

void main()
{
    ivec2 block = ivec2(gl_GlobalInvocationID.xy);
    if (block.x >= blocks_x || block.y >= blocks_y)
        return;
    vec3 top[4], bottom[4];
    uint row0 = 0u, row1 = 0u;
    for (int i = 0; i < 4; i++) {
        top[i] = fetch(block.x * 4 + i, block.y * 2);
        bottom[i] = fetch(block.x * 4 + i, block.y * 2 + 1);
        row0 |= luma(top[i]) << (8 * i);
        row1 |= luma(bottom[i]) << (8 * i);
    }
    uvec2 left = chroma(top[0] + top[1] + bottom[0] + bottom[1]);
    uvec2 right = chroma(top[2] + top[3] + bottom[2] + bottom[3]);
    uint at = uint(block.y * 2) * stride + uint(block.x);
    word[at] = row0;
    word[at + stride] = row1;
    word[chroma_base + uint(block.y) * stride + uint(block.x)] =
        left.x | left.y << 8 | right.x << 16 | right.y << 24;
}

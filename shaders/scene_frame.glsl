// SPDX-License-Identifier: MIT
// What one frame of the scene source has in common; struct frame_block in draw.c mirrors it.
layout(set = 0, binding = 0, std140) uniform Frame
{
    mat4 view_projection;
    vec4 eye;        // xyz
    vec4 ground;     // centre xyz, half size
    vec4 ground_turn; // cos, sin of the turntable; z: grid on; w: height / width of the picture
}
frame;

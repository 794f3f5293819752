#version 450
#extension GL_GOOGLE_include_directive : require
// SPDX-License-Identifier: MIT
#include "scene_frame.glsl"

layout(set = 1, binding = 0, std140) uniform Material
{
    vec4 base;
    vec4 emissive;
    vec4 factors; // metallic, roughness, normal scale, occlusion strength
    vec4 more;    // alpha cutoff
    vec4 uv_rows[2];
    ivec4 uv_set;
}
material;
layout(push_constant) uniform Push
{
    mat4 world;
}
push;

layout(location = 0) in vec3 position;
layout(location = 1) in vec4 normal;
layout(location = 2) in vec4 tangent;
layout(location = 3) in vec4 uvs;
layout(location = 4) in vec4 color;

layout(location = 0) out vec3 out_position;
layout(location = 1) out vec3 out_normal;
layout(location = 2) out vec4 out_tangent;
layout(location = 3) out vec4 out_uv; // two sets
layout(location = 4) out vec4 out_color;

void main()
{
    vec4 world = push.world * vec4(position, 1.0);
    mat3 m = mat3(push.world);
    // The cofactor matrix turns normals rightly under any scale, mirrors included.
    mat3 cofactor = mat3(cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1]));
    float mirror = dot(m[0], cofactor[0]) < 0.0 ? -1.0 : 1.0;
    out_position = world.xyz;
    out_normal = normalize(cofactor * normal.xyz) * mirror;
    out_tangent = vec4(normalize(m * tangent.xyz), tangent.w * mirror);
    vec3 uv = vec3(uvs.xy, 1.0);
    out_uv = vec4(dot(material.uv_rows[0].xyz, uv), dot(material.uv_rows[1].xyz, uv), uvs.zw);
    out_color = color;
    gl_Position = frame.view_projection * world;
}

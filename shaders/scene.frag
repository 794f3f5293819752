#version 450
#extension GL_GOOGLE_include_directive : require
// SPDX-License-Identifier: MIT
// glTF's metallic-roughness material under one light and a studio around it. Constants cut away
// what a material does not have: on CPU devices each texture fetch counts.
#include "scene_frame.glsl"
#include "tonemap.glsl"

layout(constant_id = 0) const bool tone_mapped = true;
layout(constant_id = 1) const bool has_base = false;
layout(constant_id = 2) const bool has_rough_metal = false;
layout(constant_id = 3) const bool has_occlusion = false;
layout(constant_id = 4) const bool has_normal = false;
layout(constant_id = 5) const bool has_emissive = false;
layout(constant_id = 6) const bool unlit = false;
layout(constant_id = 7) const int alpha_mode = 0; // 0 opaque, 1 mask, 2 blend
layout(constant_id = 8) const float top_lod = 5.0;

layout(set = 0, binding = 1) uniform samplerCube studio;
layout(set = 1, binding = 0, std140) uniform Material
{
    vec4 base;
    vec4 emissive;
    vec4 factors;
    vec4 more;
    vec4 uv_rows[2];
    ivec4 uv_set;
}
material;
layout(set = 1, binding = 1) uniform sampler2D base_map;
layout(set = 1, binding = 2) uniform sampler2D orm_map;
layout(set = 1, binding = 3) uniform sampler2D normal_map;
layout(set = 1, binding = 4) uniform sampler2D emissive_map;

layout(location = 0) in vec3 in_position;
layout(location = 1) in vec3 in_normal;
layout(location = 2) in vec4 in_tangent;
layout(location = 3) in vec4 in_uv;
layout(location = 4) in vec4 in_color;
layout(location = 0) out vec4 out_color;

vec2 uv_of(int set)
{
    return set == 0 ? in_uv.xy : in_uv.zw;
}

vec3 shading_normal()
{
    vec3 n = normalize(in_normal);
    if (has_normal) {
        vec3 t = in_tangent.xyz;
        vec3 b = cross(n, t) * in_tangent.w;
        vec3 s = texture(normal_map, uv_of(material.uv_set.z)).xyz * 2.0 - 1.0;
        s.xy *= material.factors.z;
        n = normalize(t * s.x + b * s.y + n * s.z);
    }
    return gl_FrontFacing ? n : -n;
}

vec3 irradiance(vec3 n)
{
    return max(frame.sh[0].rgb + frame.sh[1].rgb * n.y + frame.sh[2].rgb * n.z +
                   frame.sh[3].rgb * n.x + frame.sh[4].rgb * (n.x * n.y) +
                   frame.sh[5].rgb * (n.y * n.z) + frame.sh[6].rgb * (3.0 * n.z * n.z - 1.0) +
                   frame.sh[7].rgb * (n.x * n.z) + frame.sh[8].rgb * (n.x * n.x - n.y * n.y),
               vec3(0.0));
}

// Scale and bias of F0 for light from all around: a fit instead of a table (B. Karis, 2014).
vec2 ambient_brdf(float roughness, float nv)
{
    vec4 r = roughness * vec4(-1.0, -0.0275, -0.572, 0.022) + vec4(1.0, 0.0425, 1.04, -0.04);
    float a = min(r.x * r.x, exp2(-9.28 * nv)) * r.x + r.y;
    return vec2(-1.04, 1.04) * a + r.zw;
}

vec3 shade(vec3 base)
{
    float metallic = material.factors.x, roughness = material.factors.y, occlusion = 1.0;
    if (has_rough_metal || has_occlusion) {
        vec3 orm = texture(orm_map, uv_of(material.uv_set.y)).rgb;
        if (has_rough_metal) {
            roughness *= orm.g;
            metallic *= orm.b;
        }
        if (has_occlusion)
            occlusion = 1.0 + material.factors.w * (orm.r - 1.0);
    }
    roughness = clamp(roughness, 0.045, 1.0);
    vec3 n = shading_normal();
    vec3 v = normalize(frame.eye.xyz - in_position);
    float nv = clamp(abs(dot(n, v)), 1e-3, 1.0);
    vec3 diffuse = base * (1.0 - metallic);
    vec3 f0 = mix(vec3(0.04), base, metallic);

    vec2 ab = ambient_brdf(roughness, nv);
    vec3 mirrored = textureLod(studio, reflect(-v, n), roughness * top_lod).rgb;
    vec3 light = (diffuse * irradiance(n) + mirrored * (f0 * ab.x + ab.y)) * occlusion;

    vec3 l = frame.light.xyz;
    float nl = dot(n, l);
    if (nl > 0.0) {
        vec3 h = normalize(l + v);
        float nh = clamp(dot(n, h), 0.0, 1.0), lh = clamp(dot(l, h), 0.0, 1.0);
        float a = roughness * roughness, a2 = a * a;
        float d = nh * nh * (a2 - 1.0) + 1.0;
        float visible = 0.5 / (mix(2.0 * nl * nv, nl + nv, a) + 1e-4);
        float f = 1.0 - lh;
        float f5 = f * f * f * f * f;
        vec3 specular = (f0 + (1.0 - f0) * f5) * min(a2 / (d * d) * visible, 60.0);
        light += (diffuse + specular) * frame.light_color.rgb * nl;
    }
    return light;
}

void main()
{
    vec4 base = material.base * in_color;
    if (has_base)
        base *= texture(base_map, uv_of(material.uv_set.x));
    if (alpha_mode == 1 && base.a < material.more.x)
        discard;
    vec3 color = unlit ? base.rgb : shade(base.rgb);
    vec3 glow = material.emissive.rgb;
    if (has_emissive)
        glow *= texture(emissive_map, uv_of(material.uv_set.w)).rgb;
    color += unlit ? vec3(0.0) : glow;
    color = min(color, vec3(200.0));
    out_color = vec4(tone_mapped ? fw_display(color) : color, alpha_mode == 2 ? base.a : 1.0);
}

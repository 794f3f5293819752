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
layout(constant_id = 9) const bool has_color = false;
layout(constant_id = 10) const bool second_uv = false;
// The studio's irradiance / pi. Constants, because a uniform costs a CPU device a checked load for
// each use of each component.
layout(constant_id = 11) const float sh0r = 0.0;
layout(constant_id = 12) const float sh0g = 0.0;
layout(constant_id = 13) const float sh0b = 0.0;
layout(constant_id = 14) const float sh1r = 0.0;
layout(constant_id = 15) const float sh1g = 0.0;
layout(constant_id = 16) const float sh1b = 0.0;
layout(constant_id = 17) const float sh2r = 0.0;
layout(constant_id = 18) const float sh2g = 0.0;
layout(constant_id = 19) const float sh2b = 0.0;
layout(constant_id = 20) const float sh3r = 0.0;
layout(constant_id = 21) const float sh3g = 0.0;
layout(constant_id = 22) const float sh3b = 0.0;
layout(constant_id = 23) const float sh4r = 0.0;
layout(constant_id = 24) const float sh4g = 0.0;
layout(constant_id = 25) const float sh4b = 0.0;
layout(constant_id = 26) const float sh5r = 0.0;
layout(constant_id = 27) const float sh5g = 0.0;
layout(constant_id = 28) const float sh5b = 0.0;
layout(constant_id = 29) const float sh6r = 0.0;
layout(constant_id = 30) const float sh6g = 0.0;
layout(constant_id = 31) const float sh6b = 0.0;
layout(constant_id = 32) const float sh7r = 0.0;
layout(constant_id = 33) const float sh7g = 0.0;
layout(constant_id = 34) const float sh7b = 0.0;
layout(constant_id = 35) const float sh8r = 0.0;
layout(constant_id = 36) const float sh8g = 0.0;
layout(constant_id = 37) const float sh8b = 0.0;

const vec3 light_direction = vec3(-0.46158, 0.70240, 0.54185); // towards it
const vec3 light_color = vec3(0.86, 0.82, 0.77);

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
    return second_uv && set != 0 ? in_uv.zw : in_uv.xy;
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
    vec3 sum = vec3(sh0r, sh0g, sh0b) + vec3(sh1r, sh1g, sh1b) * n.y + vec3(sh2r, sh2g, sh2b) * n.z;
    sum += vec3(sh3r, sh3g, sh3b) * n.x + vec3(sh4r, sh4g, sh4b) * (n.x * n.y);
    sum += vec3(sh5r, sh5g, sh5b) * (n.y * n.z) + vec3(sh6r, sh6g, sh6b) * (3.0 * n.z * n.z - 1.0);
    sum += vec3(sh7r, sh7g, sh7b) * (n.x * n.z) + vec3(sh8r, sh8g, sh8b) * (n.x * n.x - n.y * n.y);
    return max(sum, vec3(0.0));
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

    // No branch: with eight pixels at a time both ways are nearly always taken.
    const vec3 l = light_direction;
    float nl = max(dot(n, l), 0.0);
    vec3 h = normalize(l + v);
    float nh = clamp(dot(n, h), 0.0, 1.0), lh = clamp(dot(l, h), 0.0, 1.0);
    float a = roughness * roughness, a2 = a * a;
    float d = nh * nh * (a2 - 1.0) + 1.0;
    float visible = 0.5 / (mix(2.0 * nl * nv, nl + nv, a) + 1e-4);
    float f = 1.0 - lh;
    float f5 = f * f * f * f * f;
    vec3 specular = (f0 + (1.0 - f0) * f5) * min(a2 / (d * d) * visible, 60.0);
    light += (diffuse + specular) * light_color * nl;
    return light;
}

void main()
{
    vec4 base = has_color ? material.base * in_color : material.base;
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

// SPDX-License-Identifier: MIT
// Scene-linear to display: one curve for the output merge and for sources that write tone-mapped
// values themselves, so that both paths give the same picture.

// Khronos "PBR neutral": base colours under white light come out as they are; only what is
// brighter than 0.8 is compressed, and then drifts to white.
vec3 fw_tonemap(vec3 c)
{
    const float start = 0.8 - 0.04;
    const float desaturation = 0.15;
    c = max(c, vec3(0.0));
    float low = min(c.r, min(c.g, c.b));
    float offset = low < 0.08 ? low - 6.25 * low * low : 0.04;
    c -= offset;
    float peak = max(c.r, max(c.g, c.b));
    if (peak < start)
        return c;
    float room = 1.0 - start;
    float squeezed = 1.0 - room * room / (peak + room - start);
    c *= squeezed / peak;
    float to_white = 1.0 - 1.0 / (desaturation * (peak - squeezed) + 1.0);
    return mix(c, vec3(squeezed), to_white);
}

// The sRGB curve as a fraction in the square root, never off by more than a fifth of an 8-bit level
// (minimax fit over 0-1): a CPU device has a quick root and no quick power.
vec3 fw_srgb_encode(vec3 c)
{
    vec3 s = sqrt(clamp(c, 0.0, 1.0));
    vec3 above = s * (0.0325902 + s * (3.1557940 + s * 363.1772112));
    vec3 below = 1.0 + s * (-2.9382151 + s * (323.8691203 + s * 44.6797705));
    return clamp(above / below, 0.0, 1.0);
}

// What a source with record.tone_mapped set writes.
vec3 fw_display(vec3 linear)
{
    return fw_srgb_encode(fw_tonemap(linear));
}

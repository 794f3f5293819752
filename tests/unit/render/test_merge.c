// SPDX-License-Identifier: MIT
// The output merge on a scene-linear layer against the same curve in double precision, and its
// scaling.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "rig.h"

enum { SIDE = 64 };

// IEEE half from a value that is 0 or normal in half precision.
static uint16_t to_half(double v)
{
    if (v <= 0) {
        return 0;
    }
    int exponent;
    const double mantissa = frexp(v, &exponent); // 0.5 to 1
    return (uint16_t)((exponent + 14) << 10 | (int)((mantissa * 2 - 1) * 1024));
}

static double from_half(uint16_t h)
{
    return h ? ldexp(1.0 + (h & 1023) / 1024.0, (h >> 10) - 15) : 0;
}

static double encode(double c)
{
    c = c < 0 ? 0 : c > 1 ? 1 : c;
    return 255.0 * (c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1 / 2.4) - 0.055);
}

// Khronos PBR neutral.
static void tonemap(const double in[3], double out[3])
{
    const double start = 0.76, least = fmin(in[0], fmin(in[1], in[2]));
    const double offset = least < 0.08 ? least - 6.25 * least * least : 0.04;
    const double peak = fmax(in[0], fmax(in[1], in[2])) - offset;
    const double squeezed = 1 - (1 - start) * (1 - start) / (peak + 1 - 2 * start);
    const double white = 1 - 1 / (0.15 * (peak - squeezed) + 1);
    for (int i = 0; i < 3; i++) {
        const double c = in[i] - offset;
        out[i] = peak < start ? c : c * squeezed / peak * (1 - white) + squeezed * white;
    }
}

static void fill_layer(uint16_t *half)
{
    uint32_t seed = 7;
    for (int i = 0; i < SIDE * SIDE; i++) {
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525u + 1013904223u;
            // From deep shadow to 16 times white, and every eighth one black.
            const double v = exp2((double)(seed >> 8 & 0xfff) / 4096.0 * 14.0 - 10.0);
            half[i * 4 + k] = seed >> 29 ? to_half(v) : 0;
        }
        half[i * 4 + 3] = to_half(1);
    }
}

static void merge_layer(struct fw_render *render, const struct fw_gpu_image *layer,
                        const struct fw_target *target)
{
    VkCommandBuffer cmd;
    fw_output_set_layer(&render->output, layer);
    assert_int_equal(fw_gpu_once_begin(render->gpu, &cmd), FW_OK);
    fw_gpu_barrier(cmd, layer->image, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                   VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    fw_output_record_merge(&render->output, cmd, layer, target);
    fw_target_record_to_host(cmd, target);
    assert_int_equal(fw_gpu_once_end(render->gpu, cmd), FW_OK);
}

static void test_tone_map(void **state)
{
    (void)state;
    static uint16_t half[SIDE * SIDE * 4];
    struct fw_render *render = rig_create((struct fw_render_params){ .force_target = "readback" });
    struct fw_gpu_image layer;
    struct fw_target target;
    const struct fw_gpu_image_params params = {
        .width = SIDE,
        .height = SIDE,
        .format = VK_FORMAT_R16G16B16A16_SFLOAT,
        .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
                 VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    };
    fill_layer(half);
    assert_int_equal(fw_gpu_image_create(render->gpu, &params, &layer), FW_OK);
    assert_int_equal(fw_gpu_upload_image(render->gpu, &layer, half, sizeof(half)), FW_OK);
    assert_int_equal(
        fw_target_create(render->gpu, FW_TARGET_READBACK, (VkExtent2D){ SIDE, SIDE }, &target),
        FW_OK);
    merge_layer(render, &layer, &target);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double linear[3] = { from_half(half[i * 4]), from_half(half[i * 4 + 1]),
                                   from_half(half[i * 4 + 2]) };
        double display[3];
        tonemap(linear, display);
        for (int k = 0; k < 3; k++) {
            assert_true(fabs(target.pixels[i * 4 + k] - encode(display[k])) <= 1.0);
        }
        assert_int_equal(target.pixels[i * 4 + 3], 255);
    }
    fw_target_finish(render->gpu, &target);
    fw_gpu_image_finish(render->gpu, &layer);
    rig_destroy(render);
}

// Twice the size, brought back by the sampler: each pixel is the mean of four.
static void test_scale(void **state)
{
    (void)state;
    static uint8_t rgba[4 * SIDE * SIDE * 4];
    struct fw_render *render = rig_create((struct fw_render_params){ .force_target = "readback" });
    struct fw_gpu_image layer;
    struct fw_target target;
    const struct fw_gpu_image_params params = {
        .width = 2 * SIDE,
        .height = 2 * SIDE,
        .format = fw_target_format,
        .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
                 VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    };
    for (size_t i = 0; i < sizeof(rgba); i++) {
        rgba[i] = i % 4 == 3 ? 255 : (uint8_t)(i * 2654435761u >> 13);
    }
    assert_int_equal(fw_gpu_image_create(render->gpu, &params, &layer), FW_OK);
    assert_int_equal(fw_gpu_upload_image(render->gpu, &layer, rgba, sizeof(rgba)), FW_OK);
    assert_int_equal(
        fw_target_create(render->gpu, FW_TARGET_READBACK, (VkExtent2D){ SIDE, SIDE }, &target),
        FW_OK);
    merge_layer(render, &layer, &target);
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            for (int k = 0; k < 3; k++) {
                const uint8_t *from = rgba + ((2 * y * 2 * SIDE) + 2 * x) * 4 + k;
                const double mean = (from[0] + from[4] + from[8 * SIDE] + from[8 * SIDE + 4]) / 4.0;
                assert_true(fabs(target.pixels[(y * SIDE + x) * 4 + k] - mean) <= 1.5);
            }
        }
    }
    fw_target_finish(render->gpu, &target);
    fw_gpu_image_finish(render->gpu, &layer);
    rig_destroy(render);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tone_map),
        cmocka_unit_test(test_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

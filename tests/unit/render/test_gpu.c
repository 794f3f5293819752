// SPDX-License-Identifier: MIT
// Device choice (pure, on made-up tables), then a real device with validation on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "render/gpu.h"
#include "render/gpu_priv.h"

static char last_error[1024];

static void keep_line(struct fw_log *log, enum fw_log_level level, const char *module,
                      const char *line)
{
    (void)log;
    if (level == FW_LOG_ERROR) {
        snprintf(last_error, sizeof(last_error), "%s", line);
    }
    fprintf(stderr, "  [%d] %s: %s\n", level, module, line);
}

static struct fw_log test_log = { .level = FW_LOG_INFO, .write = keep_line };

static const struct fw_gpu_info table[] = {
    { .name = "llvmpipe (LLVM 15.0.6, 256 bits)",
      .uuid = "6d65736132322e332e36000000000000",
      .type = VK_PHYSICAL_DEVICE_TYPE_CPU,
      .is_cpu = true },
    { .name = "Small Integrated",
      .uuid = "00000000000000000000000000000001",
      .type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU },
    { .name = "Big Card",
      .uuid = "00000000000000000000000000000abc",
      .type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU },
    { .name = "Big Card",
      .uuid = "00000000000000000000000000000abd",
      .type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU },
    { .name = "Old Card",
      .uuid = "00000000000000000000000000000abe",
      .missing = "Vulkan 1.3",
      .type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU },
};
enum { TABLE_COUNT = sizeof(table) / sizeof(table[0]) };

static void expect_choice(const char *select, unsigned want)
{
    unsigned index = 99;
    char why[512];
    assert_int_equal(fw_gpu_choose(table, TABLE_COUNT, select, &index, why, sizeof(why)), FW_OK);
    assert_int_equal(index, want);
}

static void test_choose(void **state)
{
    (void)state;
    expect_choice(NULL, 2);
    expect_choice("", 2);
    expect_choice("auto", 2);
    expect_choice("0", 0);
    expect_choice("3", 3);
    expect_choice("llvm", 0);
    expect_choice("INTEGRATED", 1);
    expect_choice("big", 2);
    expect_choice("00000000-0000-0000-0000-000000000ABD", 3);
    expect_choice("6d65736132322e332e36000000000000", 0);

    // Order must not matter when the UUID is given.
    struct fw_gpu_info turned[TABLE_COUNT];
    for (int i = 0; i < TABLE_COUNT; i++) {
        turned[i] = table[TABLE_COUNT - 1 - i];
    }
    unsigned index = 99;
    char why[512];
    assert_int_equal(fw_gpu_choose(turned, TABLE_COUNT, "00000000000000000000000000000abd", &index,
                                   why, sizeof(why)),
                     FW_OK);
    assert_string_equal(turned[index].uuid, "00000000000000000000000000000abd");
}

static void test_choose_fails(void **state)
{
    (void)state;
    unsigned index;
    char why[512];
    assert_int_equal(fw_gpu_choose(table, TABLE_COUNT, "ffffffffffffffffffffffffffffffff", &index,
                                   why, sizeof(why)),
                     FW_ERR_NOT_FOUND);
    assert_non_null(strstr(why, "ffffffff"));
    assert_non_null(strstr(why, "Small Integrated"));
    assert_int_equal(fw_gpu_choose(table, TABLE_COUNT, "9", &index, why, sizeof(why)),
                     FW_ERR_NOT_FOUND);
    assert_int_equal(fw_gpu_choose(table, TABLE_COUNT, "old", &index, why, sizeof(why)),
                     FW_ERR_UNSUPPORTED);
    assert_string_equal(why, "GPU \"Old Card\" lacks Vulkan 1.3");
    assert_int_equal(fw_gpu_choose(table, 0, NULL, &index, why, sizeof(why)), FW_ERR_NOT_FOUND);
    assert_non_null(strstr(why, "mesa-vulkan-drivers"));
    // Only an unfit one: say what it lacks, do not take it.
    assert_int_equal(fw_gpu_choose(table + 4, 1, NULL, &index, why, sizeof(why)),
                     FW_ERR_UNSUPPORTED);
}

static void test_list(void **state)
{
    (void)state;
    struct fw_gpu_info info[8];
    unsigned count = 8;
    assert_int_equal(fw_gpu_list(info, &count, &test_log), FW_OK);
    assert_true(count >= 1);
    assert_int_equal(strlen(info[0].uuid), 32);
    unsigned none = 0; // no room: still counts
    assert_int_equal(fw_gpu_list(NULL, &none, &test_log), FW_OK);
    assert_int_equal(none, count);
}

static void test_wrong_uuid(void **state)
{
    (void)state;
    struct fw_gpu *gpu = (void *)1;
    last_error[0] = '\0';
    const struct fw_gpu_params params = { .select = "00112233-4455-6677-8899-aabbccddeeff",
                                          .log = &test_log };
    assert_int_equal(fw_gpu_create(&gpu, &params), FW_ERR_NOT_FOUND);
    assert_null(gpu);
    assert_non_null(strstr(last_error, "00112233-4455"));
}

static struct fw_gpu *open_gpu(const char *cache_dir)
{
    struct fw_gpu *gpu;
    const struct fw_gpu_params params = { .validation = true,
                                          .cache_dir = cache_dir,
                                          .log = &test_log };
    assert_int_equal(fw_gpu_create(&gpu, &params), FW_OK);
    return gpu;
}

static void close_gpu(struct fw_gpu *gpu)
{
    for (int i = 0; i < FW_GPU_USE_COUNT; i++) {
        assert_int_equal(gpu->used_bytes[i], 0);
    }
    assert_int_equal(gpu->validation_messages, 0);
    fw_gpu_destroy(&gpu);
    assert_null(gpu);
    fw_gpu_destroy(&gpu);
}

static void test_memory(void **state)
{
    (void)state;
    struct fw_gpu *gpu = open_gpu(NULL);
    struct fw_gpu_buffer buffer, back;
    struct fw_gpu_image image;
    uint8_t pixels[6 * (8 * 8 + 4 * 4 + 2 * 2 + 1) * 4];
    for (size_t i = 0; i < sizeof(pixels); i++) {
        pixels[i] = (uint8_t)(i * 7);
    }
    const struct fw_gpu_buffer_params geometry = { .size = 1000,
                                                   .usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
                                                            VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                                                   .use = FW_GPU_USE_GEOMETRY };
    const struct fw_gpu_buffer_params host = { .size = sizeof(pixels),
                                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                               .host_visible = true,
                                               .use = FW_GPU_USE_STAGING };
    assert_int_equal(fw_gpu_buffer_create(gpu, &geometry, &buffer), FW_OK);
    assert_int_equal(fw_gpu_buffer_create(gpu, &host, &back), FW_OK);
    assert_true(gpu->used_bytes[FW_GPU_USE_GEOMETRY] >= 1000);
    assert_int_equal(fw_gpu_upload_buffer(gpu, &buffer, pixels, 1000), FW_OK);
    assert_int_equal(fw_gpu_upload_buffer(gpu, &buffer, pixels, 1 << 20), FW_ERR_INVALID);

    const struct fw_gpu_image_params cube = {
        .width = 8,
        .height = 8,
        .mip_levels = 4,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                 VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
        .cube = true,
        .use = FW_GPU_USE_TEXTURE,
        .name = "test cube",
    };
    assert_int_equal(fw_gpu_image_create(gpu, &cube, &image), FW_OK);
    assert_int_equal(fw_gpu_upload_image(gpu, &image, pixels, sizeof(pixels) - 1), FW_ERR_INVALID);
    assert_int_equal(fw_gpu_upload_image(gpu, &image, pixels, sizeof(pixels)), FW_OK);

    // Read mip 1 of face 5 back and find what was sent.
    VkCommandBuffer cmd;
    assert_int_equal(fw_gpu_once_begin(gpu, &cmd), FW_OK);
    fw_gpu_barrier(cmd, image.image, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                   VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    const VkBufferImageCopy copy = {
        .imageSubresource = { VK_IMAGE_ASPECT_COLOR_BIT, 1, 5, 1 },
        .imageExtent = { 4, 4, 1 },
    };
    vkCmdCopyImageToBuffer(cmd, image.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, back.buffer, 1,
                           &copy);
    assert_int_equal(fw_gpu_once_end(gpu, cmd), FW_OK);
    assert_memory_equal(back.map, pixels + 6 * 256 + 5 * 64, 64);

    struct fw_gpu_image huge;
    const struct fw_gpu_image_params too_large = { .width = 1 << 20,
                                                   .height = 8,
                                                   .format = VK_FORMAT_R8G8B8A8_UNORM,
                                                   .usage = VK_IMAGE_USAGE_SAMPLED_BIT };
    assert_int_equal(fw_gpu_image_create(gpu, &too_large, &huge), FW_ERR_TOO_LARGE);

    fw_gpu_image_finish(gpu, &image);
    fw_gpu_buffer_finish(gpu, &buffer);
    fw_gpu_buffer_finish(gpu, &back);
    close_gpu(gpu);
}

static long file_size(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        return -1;
    }
    fseek(f, 0, SEEK_END);
    const long size = ftell(f);
    fclose(f);
    return size;
}

static void test_pipeline_cache(void **state)
{
    (void)state;
    char dir[] = "/tmp/fw-cache-XXXXXX";
    assert_non_null(mkdtemp(dir));
    struct fw_gpu *gpu = open_gpu(dir);
    char path[512];
    snprintf(path, sizeof(path), "%s", gpu->priv->cache_path);
    close_gpu(gpu);
    const long size = file_size(path);
    assert_true(size > 24);

    gpu = open_gpu(dir); // read back and accepted
    assert_int_not_equal(gpu->priv->cache_hash, 0);
    close_gpu(gpu);

    // Damaged in its middle: ignored, and replaced at the end.
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, size - 1, SEEK_SET);
    const int last = fgetc(f);
    fseek(f, size - 1, SEEK_SET);
    fputc(last ^ 0xff, f);
    fclose(f);
    gpu = open_gpu(dir);
    assert_int_equal(gpu->priv->cache_hash, 0);
    close_gpu(gpu);
    gpu = open_gpu(dir);
    assert_int_not_equal(gpu->priv->cache_hash, 0);
    close_gpu(gpu);

    // Cut short.
    assert_int_equal(truncate(path, 10), 0);
    gpu = open_gpu(dir);
    assert_int_equal(gpu->priv->cache_hash, 0);
    close_gpu(gpu);
    unlink(path);
    assert_int_equal(rmdir(dir), 0); // no temporary file left
}

static void test_check(void **state)
{
    (void)state;
    struct fw_gpu gpu = { .log = &test_log };
    assert_int_equal(fw_gpu_check(&gpu, VK_SUCCESS, "vkX(a)"), FW_OK);
    assert_int_equal(fw_gpu_check(&gpu, VK_TIMEOUT, "vkX(a)"), FW_ERR_TIMEOUT);
    assert_int_equal(fw_gpu_check(&gpu, VK_ERROR_OUT_OF_DEVICE_MEMORY, "vkX(a)"), FW_ERR_NOMEM);
    assert_false(gpu.lost);
    assert_int_equal(fw_gpu_check(&gpu, VK_ERROR_DEVICE_LOST, "vkQueueSubmit2(q, 1)"),
                     FW_ERR_DEVICE_LOST);
    assert_true(gpu.lost);
    assert_string_equal(last_error, "vkQueueSubmit2: VK_ERROR_DEVICE_LOST");
}

static void test_validation_speaks(void **state)
{
    (void)state;
    struct fw_gpu *gpu = open_gpu(NULL);
    // A messenger that stays silent proves nothing unless it can speak: make one mistake.
    const VkBufferCreateInfo wrong = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 0 };
    VkBuffer buffer = VK_NULL_HANDLE;
    if (vkCreateBuffer(gpu->device, &wrong, NULL, &buffer) == VK_SUCCESS) {
        vkDestroyBuffer(gpu->device, buffer, NULL);
    }
    assert_true(gpu->validation_messages > 0);
    fw_gpu_destroy(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choose), cmocka_unit_test(test_choose_fails),
        cmocka_unit_test(test_list),   cmocka_unit_test(test_wrong_uuid),
        cmocka_unit_test(test_memory), cmocka_unit_test(test_pipeline_cache),
        cmocka_unit_test(test_check),  cmocka_unit_test(test_validation_speaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
#include "render/gpu_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parts.frag.spv.h"
#include "parts.vert.spv.h"
#include "render/gpu_priv.h"

enum { EDGE = 128, TRIANGLES = 4096, ROUNDS = 3, CPU_LOOPS = 64, GPU_LOOPS = 2048, MOST = 60 };

struct push {
    uint32_t vertex_loops, fragment_loops;
    float size;
};
_Static_assert(sizeof(struct push) == 12, "shaders/parts.vert");

struct trial {
    struct fw_gpu *gpu;
    struct fw_gpu_image target;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkQueryPool queries;
};

void fw_gpu_parts_stamp(VkCommandBuffer cmd, VkQueryPool queries, uint32_t first)
{
    static const VkPipelineStageFlags2 ends[FW_PART_COUNT - 1] = {
        [FW_PART_VERTEX] = VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT,
        [FW_PART_RASTER] = VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT,
        [FW_PART_FRAGMENT] = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
    };
    for (uint32_t i = 0; i < FW_PART_COUNT - 1; i++) {
        vkCmdWriteTimestamp2(cmd, ends[i], queries, first + 1 + i);
    }
}

bool fw_gpu_parts_read(const uint64_t ticks[FW_PARTS_QUERIES], double ns_per_tick,
                       uint32_t us[FW_PART_COUNT])
{
    memset(us, 0, FW_PART_COUNT * sizeof(us[0]));
    uint32_t before = 0;
    for (int i = 0; i < FW_PART_COUNT; i++) {
        if (ticks[i + 1] < ticks[i]) {
            memset(us, 0, FW_PART_COUNT * sizeof(us[0]));
            return false;
        }
        // Rounded as a sum, so that the sum is right.
        const double ns = (double)(ticks[i + 1] - ticks[0]) * ns_per_tick;
        const uint32_t end = ns < 1e12 ? (uint32_t)(ns / 1000.0 + 0.5) : before;
        us[i] = end - before;
        before = end;
    }
    return true;
}

static unsigned percent(const uint32_t us[FW_PART_COUNT], enum fw_part part)
{
    uint64_t sum = 0;
    for (int i = 0; i < FW_PART_COUNT; i++) {
        sum += us[i];
    }
    return sum ? (unsigned)(us[part] * UINT64_C(100) / sum) : 0;
}

void fw_gpu_parts_judge(const uint32_t vertex_heavy[FW_PART_COUNT],
                        const uint32_t fragment_heavy[FW_PART_COUNT], char *why, size_t size)
{
    const unsigned vertex = percent(vertex_heavy, FW_PART_VERTEX);
    const unsigned fragment = percent(fragment_heavy, FW_PART_FRAGMENT);
    why[0] = '\0';
    if (vertex < MOST) {
        snprintf(why, size, "a draw of vertices shows %u %% of its time there", vertex);
    } else if (fragment < MOST) {
        snprintf(why, size, "a draw of fragments shows %u %% of its time there", fragment);
    }
}

// ---- trying

static enum fw_err create(struct trial *t)
{
    enum fw_err err = FW_OK;
    struct fw_gpu *gpu = t->gpu;
    const struct fw_gpu_image_params target = {
        .width = EDGE,
        .height = EDGE,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
        .use = FW_GPU_USE_TARGET,
        .name = "parts",
    };
    const VkPushConstantRange range = {
        .stageFlags = VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT,
        .size = sizeof(struct push),
    };
    const VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &range,
    };
    const VkQueryPoolCreateInfo queries = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = FW_PARTS_QUERIES,
    };
    err = fw_gpu_image_create(gpu, &target, &t->target);
    if (err) {
        return err;
    }
    VK(gpu, vkCreatePipelineLayout(gpu->device, &layout, NULL, &t->layout));
    VK(gpu, vkCreateQueryPool(gpu->device, &queries, NULL, &t->queries));
    err = fw_gpu_graphics_pipeline(
        gpu,
        &(struct fw_gpu_graphics_params){ .vertex = FW_SPIRV(fw_spv_parts_vert),
                                          .fragment = FW_SPIRV(fw_spv_parts_frag),
                                          .layout = t->layout,
                                          .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                          .color_format = VK_FORMAT_R8G8B8A8_UNORM,
                                          .name = "parts" },
        &t->pipeline);
error:
    return err;
}

static void finish(struct trial *t)
{
    if (t->gpu->priv->hung) {
        return;
    }
    vkDestroyPipeline(t->gpu->device, t->pipeline, NULL);
    vkDestroyQueryPool(t->gpu->device, t->queries, NULL);
    vkDestroyPipelineLayout(t->gpu->device, t->layout, NULL);
    fw_gpu_image_finish(t->gpu, &t->target);
}

static void record(const struct trial *t, VkCommandBuffer cmd, const struct push *push,
                   uint32_t vertices)
{
    const VkRenderingAttachmentInfo color = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = t->target.view,
        .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
        .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
    };
    const VkRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
        .renderArea.extent = t->target.extent,
        .layerCount = 1,
        .colorAttachmentCount = 1,
        .pColorAttachments = &color,
    };
    fw_gpu_barrier(cmd, t->target.image, VK_IMAGE_LAYOUT_UNDEFINED,
                   VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    vkCmdWriteTimestamp2(cmd, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, t->queries, 0);
    vkCmdBeginRendering(cmd, &rendering);
    fw_gpu_set_raster(cmd, t->target.extent, VK_CULL_MODE_NONE);
    vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, t->pipeline);
    vkCmdPushConstants(cmd, t->layout, VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0,
                       sizeof(*push), push);
    vkCmdDraw(cmd, vertices, 1, 0, 0);
    vkCmdEndRendering(cmd);
    fw_gpu_parts_stamp(cmd, t->queries, 0);
    vkCmdWriteTimestamp2(cmd, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, t->queries, FW_PART_COUNT);
}

// The quickest of a few, as the first one pays for what is new.
static enum fw_err measure(const struct trial *t, const struct push *push, uint32_t vertices,
                           uint32_t best[FW_PART_COUNT])
{
    enum fw_err err = FW_OK;
    struct fw_gpu *gpu = t->gpu;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        VkCommandBuffer cmd;
        uint64_t ticks[FW_PARTS_QUERIES];
        uint32_t us[FW_PART_COUNT];
        vkResetQueryPool(gpu->device, t->queries, 0, FW_PARTS_QUERIES);
        err = fw_gpu_once_begin(gpu, &cmd);
        if (err) {
            break;
        }
        record(t, cmd, push, vertices);
        err = fw_gpu_once_end(gpu, cmd);
        if (err) {
            break;
        }
        VK(gpu, vkGetQueryPoolResults(gpu->device, t->queries, 0, FW_PARTS_QUERIES, sizeof(ticks),
                                      ticks, sizeof(ticks[0]),
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
        if (fw_gpu_parts_read(ticks, gpu->timestamp_ns, us) &&
            ticks[FW_PART_COUNT] - ticks[0] < least) {
            least = ticks[FW_PART_COUNT] - ticks[0];
            memcpy(best, us, sizeof(us));
        }
    }
error:
    return err;
}

static void try_it(struct fw_gpu *gpu)
{
    const uint32_t loops = gpu->is_cpu ? CPU_LOOPS : GPU_LOOPS;
    const struct push vertices = { .vertex_loops = loops }; // triangles without a pixel
    const struct push fragments = { .fragment_loops = loops, .size = 4 };
    uint32_t vertex_heavy[FW_PART_COUNT] = { 0 }, fragment_heavy[FW_PART_COUNT] = { 0 };
    struct trial t = { .gpu = gpu, .target.use = FW_GPU_USE_TARGET };
    enum fw_err err = create(&t);
    if (!err) {
        err = measure(&t, &vertices, 3 * TRIANGLES, vertex_heavy);
    }
    if (!err) {
        err = measure(&t, &fragments, 3, fragment_heavy);
    }
    finish(&t);
    fw_gpu_parts_judge(vertex_heavy, fragment_heavy, gpu->no_parts, sizeof(gpu->no_parts));
    if (err) {
        snprintf(gpu->no_parts, sizeof(gpu->no_parts), "trying it failed (%s)", fw_err_name(err));
    }
}

// ---- what was found, kept for the next process: a line of text for each device

static bool file_of(const struct fw_gpu *gpu, const char *dir, char *path, size_t size,
                    char key[2 * VK_UUID_SIZE + 1])
{
    char uuid[2 * VK_UUID_SIZE + 1];
    for (unsigned i = 0; i < VK_UUID_SIZE; i++) {
        snprintf(uuid + 2 * i, 3, "%02x", gpu->uuid[i]);
        snprintf(key + 2 * i, 3, "%02x", gpu->props.pipelineCacheUUID[i]); // of the driver's build
    }
    const int n = dir && *dir ? snprintf(path, size, "%s/parts-%s.txt", dir, uuid) : -1;
    return n > 0 && (size_t)n < size;
}

static bool load(struct fw_gpu *gpu, const char *path, const char *key)
{
    char line[256] = "", *rest = line;
    FILE *f = fopen(path, "re");
    if (!f) {
        return false;
    }
    const bool read = fgets(line, sizeof(line), f) != NULL;
    fclose(f);
    char *end = strchr(line, '\n');
    if (!read || !end || strcmp(strsep(&rest, " "), "fwparts1") != 0 || !rest ||
        strcmp(strsep(&rest, " "), key) != 0 || !rest) {
        return false;
    }
    *end = '\0';
    snprintf(gpu->no_parts, sizeof(gpu->no_parts), "%s", rest);
    return true;
}

// Several processes may do this at once: each renames a whole file.
static void save(const struct fw_gpu *gpu, const char *path, const char *key)
{
    char tmp[560];
    snprintf(tmp, sizeof(tmp), "%s.%d", path, (int)getpid());
    FILE *f = fopen(tmp, "we");
    if (!f) {
        return; // it is tried again next time
    }
    const bool written = fprintf(f, "fwparts1 %s %s\n", key, gpu->no_parts) > 0;
    if (fclose(f) != 0 || !written || rename(tmp, path) != 0) {
        unlink(tmp);
    }
}

void fw_gpu_parts_init(struct fw_gpu *gpu, const char *dir)
{
    char path[512], key[2 * VK_UUID_SIZE + 1];
    const bool kept = file_of(gpu, dir, path, sizeof(path), key);
    if (!gpu->timestamps) {
        snprintf(gpu->no_parts, sizeof(gpu->no_parts), "the device has no time stamps");
    } else if (!kept || !load(gpu, path, key)) {
        try_it(gpu);
        if (kept && !gpu->lost) {
            save(gpu, path, key);
        }
    }
    gpu->parts = !gpu->no_parts[0];
    fw_log(gpu->log, FW_LOG_DEBUG, "gpu", "parts of a pass are %s%s",
           gpu->parts ? "told apart" : "not told apart: ", gpu->no_parts);
}

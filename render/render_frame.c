// SPDX-License-Identifier: MIT
// One frame: record, submit, wait, convert.
#include "base/clock.h"
#include "base/fault.h"
#include "render/convert.h"
#include "render/gpu_priv.h"
#include "render/render_priv.h"

// A CPU device shares its cores with all else and compiles shaders at first use: what hangs a GPU
// is only a busy machine there.
static uint64_t frame_timeout_ns(const struct fw_gpu *gpu)
{
    return (gpu->is_cpu ? 8 : 2) * UINT64_C(1000000000);
}

enum fw_err fw_render_init_frames(struct fw_render *r)
{
    enum fw_err err = FW_OK;
    struct fw_gpu *gpu = r->gpu;
    const VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = gpu->queue_family,
    };
    VK(gpu, vkCreateCommandPool(gpu->device, &pool, NULL, &r->command_pool));
    const VkCommandBufferAllocateInfo buffer = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = r->command_pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    VK(gpu, vkAllocateCommandBuffers(gpu->device, &buffer, &r->cmd));
    const VkSemaphoreTypeCreateInfo type = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
    };
    const VkSemaphoreCreateInfo semaphore = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
        .pNext = &type,
    };
    VK(gpu, vkCreateSemaphore(gpu->device, &semaphore, NULL, &r->timeline));
    if (gpu->timestamps) {
        const VkQueryPoolCreateInfo queries = {
            .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
            .queryType = VK_QUERY_TYPE_TIMESTAMP,
            .queryCount = FW_QUERY_COUNT,
        };
        VK(gpu, vkCreateQueryPool(gpu->device, &queries, NULL, &r->queries));
    }
    if (gpu->statistics) {
        const VkQueryPoolCreateInfo statistics = {
            .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
            .queryType = VK_QUERY_TYPE_PIPELINE_STATISTICS,
            .queryCount = 1,
            .pipelineStatistics = VK_QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_VERTICES_BIT |
                                  VK_QUERY_PIPELINE_STATISTIC_CLIPPING_PRIMITIVES_BIT |
                                  VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT,
        };
        VK(gpu, vkCreateQueryPool(gpu->device, &statistics, NULL, &r->statistics));
    }
error:
    return err;
}

void fw_render_finish_frames(struct fw_render *r)
{
    if (r->gpu->priv->hung) {
        return;
    }
    vkDestroyQueryPool(r->gpu->device, r->queries, NULL);
    vkDestroyQueryPool(r->gpu->device, r->statistics, NULL);
    vkDestroySemaphore(r->gpu->device, r->timeline, NULL);
    vkDestroyCommandPool(r->gpu->device, r->command_pool, NULL);
}

// A driver that runs on the CPU ends what it has begun at every time stamp and waits for its
// threads: four a frame more than double the thread switches of the test card. So there only one
// frame in many is timed; a GPU's cost nothing.
static bool time_next(struct fw_render *r)
{
    enum { CPU_EVERY = 64 };
    if (!FW_TRACE_ON || !r->queries) {
        return false;
    }
    const bool timed = r->untimed_left == 0;
    r->untimed_left = !r->gpu->is_cpu ? 0 : timed ? CPU_EVERY - 1 : r->untimed_left - 1;
    return timed;
}

static void stamp(const struct fw_render *r, uint32_t index)
{
    if (r->timed) {
        vkCmdWriteTimestamp2(r->cmd, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, r->queries, index);
    }
}

static enum fw_err record_source(struct fw_render *r, int64_t now_ns, uint64_t frame_id)
{
    const struct fw_gpu_image *image = r->path.merge ? &r->targets.layer : &r->targets.target.color;
    fw_gpu_barrier(r->cmd, image->image, VK_IMAGE_LAYOUT_UNDEFINED,
                   VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    const struct fw_record record = {
        .cmd = r->cmd,
        .image = image->image,
        .view = image->view,
        .format = image->format,
        .extent = image->extent,
        .tone_mapped = r->path.tone_mapped,
        .now_ns = now_ns,
        .frame_id = frame_id,
    };
    if (!r->timed || !r->statistics) {
        return r->impl->record(r->source, &record);
    }
    vkCmdBeginQuery(r->cmd, r->statistics, 0, 0);
    const enum fw_err err = r->impl->record(r->source, &record);
    vkCmdEndQuery(r->cmd, r->statistics, 0);
    return err;
}

static enum fw_err record_frame(struct fw_render *r, const struct fw_slot *slot, int64_t now_ns,
                                uint64_t frame_id)
{
    enum fw_err err = FW_OK;
    struct fw_gpu *gpu = r->gpu;
    const struct fw_target *target = &r->targets.target;
    const VkCommandBufferBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    VK(gpu, vkResetCommandPool(gpu->device, r->command_pool, 0));
    VK(gpu, vkBeginCommandBuffer(r->cmd, &begin));
    r->timed = time_next(r);
    if (r->timed) {
        vkResetQueryPool(gpu->device, r->queries, 0, FW_QUERY_COUNT);
    }
    if (r->timed && r->statistics) {
        vkResetQueryPool(gpu->device, r->statistics, 0, 1);
    }
    stamp(r, FW_PASS_SOURCE);
    err = record_source(r, now_ns, frame_id);
    if (err) {
        goto error;
    }
    if (r->timed && gpu->parts) {
        fw_gpu_parts_stamp(r->cmd, r->queries, FW_QUERY_PARTS);
    }
    stamp(r, FW_PASS_MERGE);
    if (r->path.merge) {
        fw_output_record_merge(&r->output, r->cmd, &r->targets.layer, target);
    } else {
        fw_output_record_overlay(&r->output, r->cmd, target);
    }
    stamp(r, FW_PASS_CONVERT);
    if (target->kind == FW_TARGET_COMPUTE) {
        fw_output_record_nv12(&r->output, r->cmd, target, slot);
    } else {
        fw_target_record_to_host(r->cmd, target);
    }
    stamp(r, FW_PASS_COUNT);
    VK(gpu, vkEndCommandBuffer(r->cmd));
error:
    return err;
}

static enum fw_err submit(struct fw_render *r)
{
    enum fw_err err = FW_OK;
    const VkCommandBufferSubmitInfo buffer = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
        .commandBuffer = r->cmd,
    };
    const VkSemaphoreSubmitInfo signal = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
        .semaphore = r->timeline,
        .value = r->timeline_value + 1,
        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
    };
    const VkSubmitInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
        .commandBufferInfoCount = 1,
        .pCommandBufferInfos = &buffer,
        .signalSemaphoreInfoCount = 1,
        .pSignalSemaphoreInfos = &signal,
    };
    VK(r->gpu, vkQueueSubmit2(r->gpu->queue, 1, &info, VK_NULL_HANDLE));
    r->timeline_value++;
error:
    return err;
}

static enum fw_err wait(struct fw_render *r)
{
    const VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = 1,
        .pSemaphores = &r->timeline,
        .pValues = &r->timeline_value,
    };
    const enum fw_err err =
        fw_gpu_check(r->gpu, vkWaitSemaphores(r->gpu->device, &info, frame_timeout_ns(r->gpu)),
                     "vkWaitSemaphores");
    if (err == FW_ERR_TIMEOUT) {
        fw_gpu_hang(r->gpu);
    }
    return err;
}

static bool read_pool(const struct fw_render *r, VkQueryPool pool, uint32_t first, uint32_t count,
                      uint64_t *out)
{
    return vkGetQueryPoolResults(r->gpu->device, pool, first, count, count * sizeof(*out), out,
                                 sizeof(*out), VK_QUERY_RESULT_64_BIT) == VK_SUCCESS;
}

// A begin that lies outside of the time in which the frame was drawn is none.
static int64_t begin_of(struct fw_render *r, uint64_t ticks, const struct fw_frame_times *times)
{
    const int64_t slack = FW_NS_PER_MS / 2; // what both clocks may be apart, and more
    const int64_t ns = fw_gpu_clock_ns(r->gpu, ticks, times->rendered_ns);
    return ns >= times->begun_ns - slack && ns <= times->rendered_ns + slack ? ns : 0;
}

static void read_parts(const struct fw_render *r, uint64_t begin, uint64_t end,
                       struct fw_gpu_facts *facts)
{
    uint64_t ticks[FW_PARTS_QUERIES] = { begin };
    ticks[FW_PART_COUNT] = end;
    if (r->gpu->parts &&
        read_pool(r, r->queries, FW_QUERY_PARTS + 1, FW_PART_COUNT - 1, ticks + 1)) {
        fw_gpu_parts_read(ticks, r->gpu->timestamp_ns, facts->part_us);
    }
}

static uint32_t to_u32(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static void read_statistics(const struct fw_render *r, struct fw_gpu_facts *facts)
{
    uint64_t counts[3]; // in the order of their bits
    if (r->statistics &&
        vkGetQueryPoolResults(r->gpu->device, r->statistics, 0, 1, sizeof(counts), counts,
                              sizeof(counts), VK_QUERY_RESULT_64_BIT) == VK_SUCCESS) {
        facts->vertices = to_u32(counts[0]);
        facts->primitives = to_u32(counts[1]);
        facts->fragments = to_u32(counts[2]);
    }
}

static void read_queries(struct fw_render *r, const struct fw_frame_times *times,
                         struct fw_gpu_facts *facts)
{
    uint64_t ticks[FW_PASS_COUNT + 1];
    if (!r->timed || !read_pool(r, r->queries, 0, FW_PASS_COUNT + 1, ticks)) {
        return; // times are a help, not a promise
    }
    for (int i = 0; i < FW_PASS_COUNT; i++) {
        const double ns = (double)(ticks[i + 1] - ticks[i]) * r->gpu->timestamp_ns;
        // Counters may wrap; a pass of more than a frame's bound is no measurement.
        if (ticks[i + 1] >= ticks[i] && ns < (double)frame_timeout_ns(r->gpu)) {
            facts->pass_us[i] = (uint32_t)(ns / 1000.0 + 0.5);
        }
    }
    facts->begin_ns = begin_of(r, ticks[FW_PASS_SOURCE], times);
    read_parts(r, ticks[FW_PASS_SOURCE], ticks[FW_PASS_SOURCE + 1], facts);
    read_statistics(r, facts);
}

static void convert_on_cpu(const struct fw_target *target, struct fw_frame *frame)
{
    fw_convert_nv12(&(struct fw_convert){
        .rgba = target->pixels,
        .rgba_stride = target->stride,
        .width = frame->width,
        .height = frame->height,
        .luma = frame->plane[0].data,
        .chroma = frame->plane[1].data,
        .luma_stride = frame->plane[0].stride,
        .chroma_stride = frame->plane[1].stride,
    });
}

static enum fw_err draw(struct fw_render *r, struct fw_slot *slot, int64_t now_ns)
{
    struct fw_frame_times *times = &slot->frame.times;
    if (r->gpu->lost) {
        return FW_ERR_DEVICE_LOST;
    }
    enum fw_err err = record_frame(r, slot, now_ns, slot->frame.id);
    if (!err) {
        err = submit(r);
    }
    if (err) {
        return err;
    }
    times->submitted_ns = fw_trace_now_ns();
    err = wait(r);
    if (err) {
        return err;
    }
    fw_fault_wait(r->render_delay_ns);
    times->rendered_ns = fw_trace_now_ns();
    read_queries(r, times, &slot->frame.facts.gpu);
    if (r->targets.target.kind != FW_TARGET_COMPUTE) {
        convert_on_cpu(&r->targets.target, &slot->frame);
    }
    fw_fault_wait(r->convert_delay_ns);
    times->converted_ns = fw_trace_now_ns();
    return FW_OK;
}

// The source tells of its own picture; all else changes all of it.
static uint32_t damage(const struct fw_render *r, const struct fw_frame *frame)
{
    const uint64_t all = (uint64_t)frame->width * (uint64_t)frame->height;
    if (r->pending.dirty || !r->impl->damage) {
        return (uint32_t)all;
    }
    const uint64_t drawn =
        r->path.device ? (uint64_t)r->path.source_extent.width * r->path.source_extent.height : all;
    const uint64_t px = (r->impl->damage(r->source) * all + drawn - 1) / drawn;
    return (uint32_t)(px < all ? px : all);
}

enum fw_err fw_render_frame(struct fw_render *r, uint64_t frame_id, int64_t now_ns,
                            struct fw_frame **out)
{
    *out = NULL;
    if (!r->source) {
        return FW_ERR_INVALID;
    }
    struct fw_slot *slot = fw_slots_acquire(&r->slots);
    if (!slot) {
        return FW_ERR_AGAIN;
    }
    struct fw_frame *frame = &slot->frame;
    struct fw_frame_times *times = &frame->times;
    const struct fw_pending latched = r->pending;
    int64_t next_ns;
    r->impl->wants_frame(r->source, now_ns, &next_ns, &frame->animating);
    frame->id = frame_id;
    frame->input_id = latched.input_id;
    times->begun_ns = fw_now_ns();
    times->input_rx_ns = latched.input_rx_ns;
    times->change_ns = latched.change_ns ? latched.change_ns : times->begun_ns;
    enum fw_err err;
    if (r->path.device) {
        err = draw(r, slot, now_ns);
    } else {
        times->submitted_ns = times->begun_ns;
        err = r->impl->fill(r->source, frame, now_ns);
        fw_fault_wait(r->render_delay_ns);
        times->rendered_ns = fw_trace_now_ns();
        fw_fault_wait(r->convert_delay_ns);
        times->converted_ns = fw_trace_now_ns();
    }
    if (err) {
        fw_frame_unref(&frame); // what was latched stays pending
        return err;
    }
    frame->facts.damage_px = FW_TRACE_ON ? damage(r, frame) : 0;
    r->pending.dirty = false;
    r->pending.change_ns = 0;
    *out = frame;
    return FW_OK;
}

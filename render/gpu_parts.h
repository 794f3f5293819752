// SPDX-License-Identifier: MIT
// Can a device tell how long the parts of a pass take: vertices, raster, fragments, output? Many
// write each time stamp when all of the pass is over, whatever part it is asked about. So it is
// tried: of a draw that is nearly all vertices that part must be the longest by far, and of one
// that is nearly all fragments the other.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/trace.h"
#include "render/gpu.h"

// Query indices, from `first` on: the begin, then the end of each part.
enum { FW_PARTS_QUERIES = FW_PART_COUNT + 1 };

// The end of each part but the last; that ends with the pass.
void fw_gpu_parts_stamp(VkCommandBuffer cmd, VkQueryPool queries, uint32_t first);
// Ticks in that order, the begin and the end of the pass included, to µs that sum up to the pass.
// False: they contradict one another, and `us` is all 0.
bool fw_gpu_parts_read(const uint64_t ticks[FW_PARTS_QUERIES], double ns_per_tick,
                       uint32_t us[FW_PART_COUNT]);
// The verdict; "" = it can, else why not. Pure.
void fw_gpu_parts_judge(const uint32_t vertex_heavy[FW_PART_COUNT],
                        const uint32_t fragment_heavy[FW_PART_COUNT], char *why, size_t why_size);
// Fills in gpu->parts and gpu->no_parts: from `dir` (may be NULL) where this driver was tried
// before, else by trying, some 20 ms on a CPU.
void fw_gpu_parts_init(struct fw_gpu *gpu, const char *dir);

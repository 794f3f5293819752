// SPDX-License-Identifier: MIT
// The H.264 sequence parameter set: parsed whole, so that it can be written again with other VUI
// fields. Also the level table and the codec string. Pure: no I/O, no allocation.
// Source: ITU-T H.264 (08/2021), 7.3.2.1, annexes A and E.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    FW_H264_SPS_MAX = 4096,   // bytes of one SPS NAL unit that we take or make
    FW_H264_COLOUR_BT709 = 1, // primaries, transfer and matrix have the same number
    FW_H264_VIDEO_FORMAT_UNSPECIFIED = 5,
    FW_H264_EXTENDED_SAR = 255,
};

struct fw_h264_hrd {
    uint32_t cpb_count_minus1; // 0-31
    uint8_t bit_rate_scale, cpb_size_scale;
    struct {
        uint32_t bit_rate_minus1, cpb_size_minus1;
        bool cbr;
    } cpb[32];
    uint8_t initial_delay_length_minus1, removal_delay_length_minus1, output_delay_length_minus1;
    uint8_t time_offset_length;
};

struct fw_h264_vui {
    bool aspect_present;
    uint8_t aspect_idc;
    uint16_t sar_width, sar_height; // for FW_H264_EXTENDED_SAR
    bool overscan_present, overscan_appropriate;
    bool signal_present;
    uint8_t video_format;
    bool full_range;
    bool colour_present;
    uint8_t primaries, transfer, matrix;
    bool chroma_loc_present;
    uint32_t chroma_loc_top, chroma_loc_bottom;
    bool timing_present;
    uint32_t units_in_tick, time_scale;
    bool fixed_frame_rate;
    bool nal_hrd_present, vcl_hrd_present;
    struct fw_h264_hrd nal_hrd, vcl_hrd;
    bool low_delay_hrd;
    bool pic_struct_present;
    bool restriction_present;
    bool mv_over_boundaries;
    uint32_t max_bytes_per_pic_denom, max_bits_per_mb_denom;
    uint32_t log2_max_mv_horizontal, log2_max_mv_vertical;
    uint32_t max_num_reorder_frames, max_dec_frame_buffering;
};

struct fw_h264_sps {
    uint8_t profile_idc, constraints, level_idc;
    uint32_t id;
    uint32_t chroma_format_idc; // 1 = 4:2:0, also where the profile leaves it out
    bool separate_colour_planes;
    uint32_t bit_depth_luma_minus8, bit_depth_chroma_minus8;
    bool transform_bypass;
    bool scaling_present;
    bool scaling_list_present[12];
    uint8_t scaling_count[12]; // deltas coded in each list
    int16_t scaling_delta[12][64];
    uint32_t log2_max_frame_num_minus4;
    uint32_t poc_type, log2_max_poc_lsb_minus4;
    bool delta_pic_order_always_zero;
    int32_t offset_for_non_ref, offset_top_to_bottom;
    uint32_t poc_cycle_length; // 0-255
    int32_t offset_for_ref[255];
    uint32_t max_num_ref_frames;
    bool gaps_allowed;
    uint32_t width_mbs_minus1, height_units_minus1;
    bool frame_mbs_only, mb_adaptive, direct_8x8;
    bool crop_present;
    uint32_t crop_left, crop_right, crop_top, crop_bottom; // in crop units
    bool vui_present;
    struct fw_h264_vui vui;
};

// Parses one SPS NAL unit (header byte first, no start code). FW_ERR_FORMAT when it breaks the
// syntax or a range that we rely on, FW_ERR_TOO_LARGE when it is over FW_H264_SPS_MAX.
enum fw_err fw_h264_sps_parse(struct fw_h264_sps *sps, const uint8_t *nal, size_t size);
// Writes the NAL unit, emulation prevention included. `*size` in: room, out: bytes.
enum fw_err fw_h264_sps_write(const struct fw_h264_sps *sps, uint8_t *nal, size_t *size);
// Brings the fields that decoders delay or tint by into order: no reordering, the smallest
// buffering the reference count allows (1 with one reference), BT.709 limited, a level of at least
// `level` (0 = leave). Returns true when something had to change.
bool fw_h264_sps_fix(struct fw_h264_sps *sps, int level);
// Profiles whose SPS carries the chroma format and scaling lists (7.3.2.1.1).
bool fw_h264_profile_is_high(uint8_t profile);
// The picture after cropping, in luma samples.
void fw_h264_sps_size(const struct fw_h264_sps *sps, int *width, int *height);

// Smallest level_idc (10 = 1.0 … 62 = 6.2) of table A-1 for the picture, or 62 when none is large
// enough. `bitrate_kbps` 0 = not looked at.
int fw_h264_level(int width, int height, int fps, int bitrate_kbps);
// "avc1.42c01f" from bytes 1-3 of an SPS NAL unit; `nal` holds at least 4 bytes.
void fw_h264_codec_string(const uint8_t *nal, char *out, size_t out_size);

// Bytes of a NAL unit without emulation prevention; returns the count, at most `room`.
size_t fw_h264_unescape(const uint8_t *nal, size_t size, uint8_t *out, size_t room);

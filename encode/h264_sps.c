// SPDX-License-Identifier: MIT
#include "encode/h264_sps.h"

#include <stdio.h>
#include <string.h>

#include "encode/h264_bits.h"

enum { NAL_SPS = 7, MAX_MBS = 1055 }; // PicWidthInMbs of level 6.2: sqrt(139264 * 8)

size_t fw_h264_unescape(const uint8_t *nal, size_t size, uint8_t *out, size_t room)
{
    size_t n = 0;
    unsigned zeros = 0;
    for (size_t i = 0; i < size && n < room; i++) {
        if (zeros >= 2 && nal[i] == 3) {
            zeros = 0;
            continue;
        }
        zeros = nal[i] == 0 ? zeros + 1 : 0;
        out[n++] = nal[i];
    }
    return n;
}

bool fw_h264_profile_is_high(uint8_t profile)
{
    static const uint8_t high[] = { 100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135 };
    return memchr(high, profile, sizeof(high)) != NULL;
}

static void parse_scaling_list(struct fw_bit_reader *r, struct fw_h264_sps *sps, unsigned list)
{
    const unsigned entries = list < 6 ? 16 : 64;
    int last = 8, next = 8;
    for (unsigned i = 0; i < entries && next != 0; i++) {
        const int32_t delta = fw_bits_get_se(r);
        if (delta < -128 || delta > 127) {
            r->bad = true;
            return;
        }
        sps->scaling_delta[list][sps->scaling_count[list]++] = (int16_t)delta;
        next = (last + delta + 256) % 256;
        last = next == 0 ? last : next;
    }
}

static void parse_high(struct fw_bit_reader *r, struct fw_h264_sps *sps)
{
    sps->chroma_format_idc = fw_bits_get_ue(r);
    if (sps->chroma_format_idc == 3) {
        sps->separate_colour_planes = fw_bits_get(r, 1);
    }
    sps->bit_depth_luma_minus8 = fw_bits_get_ue(r);
    sps->bit_depth_chroma_minus8 = fw_bits_get_ue(r);
    sps->transform_bypass = fw_bits_get(r, 1);
    sps->scaling_present = fw_bits_get(r, 1);
    if (sps->chroma_format_idc > 3 || sps->bit_depth_luma_minus8 > 6 ||
        sps->bit_depth_chroma_minus8 > 6) {
        r->bad = true;
        return;
    }
    const unsigned lists = sps->chroma_format_idc == 3 ? 12 : 8;
    for (unsigned i = 0; sps->scaling_present && i < lists && !r->bad; i++) {
        sps->scaling_list_present[i] = fw_bits_get(r, 1);
        if (sps->scaling_list_present[i]) {
            parse_scaling_list(r, sps, i);
        }
    }
}

static void parse_poc(struct fw_bit_reader *r, struct fw_h264_sps *sps)
{
    sps->poc_type = fw_bits_get_ue(r);
    if (sps->poc_type == 0) {
        sps->log2_max_poc_lsb_minus4 = fw_bits_get_ue(r);
        r->bad |= sps->log2_max_poc_lsb_minus4 > 12;
    } else if (sps->poc_type == 1) {
        sps->delta_pic_order_always_zero = fw_bits_get(r, 1);
        sps->offset_for_non_ref = fw_bits_get_se(r);
        sps->offset_top_to_bottom = fw_bits_get_se(r);
        sps->poc_cycle_length = fw_bits_get_ue(r);
        r->bad |= sps->poc_cycle_length > 255;
        for (uint32_t i = 0; !r->bad && i < sps->poc_cycle_length; i++) {
            sps->offset_for_ref[i] = fw_bits_get_se(r);
        }
    } else {
        r->bad |= sps->poc_type > 2;
    }
}

static void parse_hrd(struct fw_bit_reader *r, struct fw_h264_hrd *hrd)
{
    hrd->cpb_count_minus1 = fw_bits_get_ue(r);
    r->bad |= hrd->cpb_count_minus1 > 31;
    hrd->bit_rate_scale = (uint8_t)fw_bits_get(r, 4);
    hrd->cpb_size_scale = (uint8_t)fw_bits_get(r, 4);
    for (uint32_t i = 0; !r->bad && i <= hrd->cpb_count_minus1; i++) {
        hrd->cpb[i].bit_rate_minus1 = fw_bits_get_ue(r);
        hrd->cpb[i].cpb_size_minus1 = fw_bits_get_ue(r);
        hrd->cpb[i].cbr = fw_bits_get(r, 1);
    }
    hrd->initial_delay_length_minus1 = (uint8_t)fw_bits_get(r, 5);
    hrd->removal_delay_length_minus1 = (uint8_t)fw_bits_get(r, 5);
    hrd->output_delay_length_minus1 = (uint8_t)fw_bits_get(r, 5);
    hrd->time_offset_length = (uint8_t)fw_bits_get(r, 5);
}

static void parse_vui_colour(struct fw_bit_reader *r, struct fw_h264_vui *vui)
{
    vui->aspect_present = fw_bits_get(r, 1);
    if (vui->aspect_present) {
        vui->aspect_idc = (uint8_t)fw_bits_get(r, 8);
        if (vui->aspect_idc == FW_H264_EXTENDED_SAR) {
            vui->sar_width = (uint16_t)fw_bits_get(r, 16);
            vui->sar_height = (uint16_t)fw_bits_get(r, 16);
        }
    }
    vui->overscan_present = fw_bits_get(r, 1);
    if (vui->overscan_present) {
        vui->overscan_appropriate = fw_bits_get(r, 1);
    }
    vui->signal_present = fw_bits_get(r, 1);
    if (vui->signal_present) {
        vui->video_format = (uint8_t)fw_bits_get(r, 3);
        vui->full_range = fw_bits_get(r, 1);
        vui->colour_present = fw_bits_get(r, 1);
        if (vui->colour_present) {
            vui->primaries = (uint8_t)fw_bits_get(r, 8);
            vui->transfer = (uint8_t)fw_bits_get(r, 8);
            vui->matrix = (uint8_t)fw_bits_get(r, 8);
        }
    }
    vui->chroma_loc_present = fw_bits_get(r, 1);
    if (vui->chroma_loc_present) {
        vui->chroma_loc_top = fw_bits_get_ue(r);
        vui->chroma_loc_bottom = fw_bits_get_ue(r);
        r->bad |= vui->chroma_loc_top > 5 || vui->chroma_loc_bottom > 5;
    }
}

static void parse_vui(struct fw_bit_reader *r, struct fw_h264_vui *vui)
{
    parse_vui_colour(r, vui);
    vui->timing_present = fw_bits_get(r, 1);
    if (vui->timing_present) {
        vui->units_in_tick = fw_bits_get(r, 32);
        vui->time_scale = fw_bits_get(r, 32);
        vui->fixed_frame_rate = fw_bits_get(r, 1);
    }
    vui->nal_hrd_present = fw_bits_get(r, 1);
    if (vui->nal_hrd_present) {
        parse_hrd(r, &vui->nal_hrd);
    }
    vui->vcl_hrd_present = fw_bits_get(r, 1);
    if (vui->vcl_hrd_present) {
        parse_hrd(r, &vui->vcl_hrd);
    }
    if (vui->nal_hrd_present || vui->vcl_hrd_present) {
        vui->low_delay_hrd = fw_bits_get(r, 1);
    }
    vui->pic_struct_present = fw_bits_get(r, 1);
    vui->restriction_present = fw_bits_get(r, 1);
    if (vui->restriction_present) {
        vui->mv_over_boundaries = fw_bits_get(r, 1);
        vui->max_bytes_per_pic_denom = fw_bits_get_ue(r);
        vui->max_bits_per_mb_denom = fw_bits_get_ue(r);
        vui->log2_max_mv_horizontal = fw_bits_get_ue(r);
        vui->log2_max_mv_vertical = fw_bits_get_ue(r);
        vui->max_num_reorder_frames = fw_bits_get_ue(r);
        vui->max_dec_frame_buffering = fw_bits_get_ue(r);
        // Some encoders write 16 for the vector lengths, as the standard's first editions had it.
        r->bad |= vui->max_bytes_per_pic_denom > 16 || vui->max_bits_per_mb_denom > 16 ||
                  vui->log2_max_mv_horizontal > 16 || vui->log2_max_mv_vertical > 16 ||
                  vui->max_num_reorder_frames > 16 || vui->max_dec_frame_buffering > 16;
    }
}

static void parse_geometry(struct fw_bit_reader *r, struct fw_h264_sps *sps)
{
    sps->max_num_ref_frames = fw_bits_get_ue(r);
    sps->gaps_allowed = fw_bits_get(r, 1);
    sps->width_mbs_minus1 = fw_bits_get_ue(r);
    sps->height_units_minus1 = fw_bits_get_ue(r);
    sps->frame_mbs_only = fw_bits_get(r, 1);
    if (!sps->frame_mbs_only) {
        sps->mb_adaptive = fw_bits_get(r, 1);
    }
    sps->direct_8x8 = fw_bits_get(r, 1);
    sps->crop_present = fw_bits_get(r, 1);
    if (sps->crop_present) {
        sps->crop_left = fw_bits_get_ue(r);
        sps->crop_right = fw_bits_get_ue(r);
        sps->crop_top = fw_bits_get_ue(r);
        sps->crop_bottom = fw_bits_get_ue(r);
    }
    r->bad |= sps->max_num_ref_frames > 16 || sps->width_mbs_minus1 >= MAX_MBS ||
              sps->height_units_minus1 >= MAX_MBS;
}

static void crop_units(const struct fw_h264_sps *sps, uint32_t *x, uint32_t *y)
{
    const uint32_t chroma = sps->separate_colour_planes ? 0 : sps->chroma_format_idc;
    *x = chroma == 1 || chroma == 2 ? 2 : 1;
    *y = (chroma == 1 ? 2 : 1) * (sps->frame_mbs_only ? 1 : 2);
}

static bool crop_fits(const struct fw_h264_sps *sps)
{
    uint32_t x, y;
    crop_units(sps, &x, &y);
    const uint64_t width = (sps->width_mbs_minus1 + 1) * 16;
    const uint64_t height =
        (uint64_t)(sps->height_units_minus1 + 1) * 16 * (sps->frame_mbs_only ? 1 : 2);
    return x * ((uint64_t)sps->crop_left + sps->crop_right) < width &&
           y * ((uint64_t)sps->crop_top + sps->crop_bottom) < height;
}

enum fw_err fw_h264_sps_parse(struct fw_h264_sps *sps, const uint8_t *nal, size_t size)
{
    *sps = (struct fw_h264_sps){ .chroma_format_idc = 1 };
    if (size > FW_H264_SPS_MAX) {
        return FW_ERR_TOO_LARGE;
    }
    if (size < 5 || (nal[0] & 0x9f) != NAL_SPS) {
        return FW_ERR_FORMAT;
    }
    uint8_t rbsp[FW_H264_SPS_MAX];
    struct fw_bit_reader r = { .data = rbsp };
    r.bits = fw_h264_unescape(nal + 1, size - 1, rbsp, sizeof(rbsp)) * 8;

    sps->profile_idc = (uint8_t)fw_bits_get(&r, 8);
    sps->constraints = (uint8_t)fw_bits_get(&r, 8);
    sps->level_idc = (uint8_t)fw_bits_get(&r, 8);
    sps->id = fw_bits_get_ue(&r);
    if (fw_h264_profile_is_high(sps->profile_idc)) {
        parse_high(&r, sps);
    }
    sps->log2_max_frame_num_minus4 = fw_bits_get_ue(&r);
    r.bad |= sps->id > 31 || sps->log2_max_frame_num_minus4 > 12;
    parse_poc(&r, sps);
    parse_geometry(&r, sps);
    sps->vui_present = fw_bits_get(&r, 1);
    if (sps->vui_present) {
        parse_vui(&r, &sps->vui);
    }
    // The stop bit must still be there, or the last field was made up from what follows.
    r.bad |= r.pos >= r.bits;
    return r.bad || !crop_fits(sps) ? FW_ERR_FORMAT : FW_OK;
}

void fw_h264_sps_size(const struct fw_h264_sps *sps, int *width, int *height)
{
    uint32_t x, y;
    crop_units(sps, &x, &y);
    *width = (int)((sps->width_mbs_minus1 + 1) * 16 - x * (sps->crop_left + sps->crop_right));
    *height = (int)((sps->height_units_minus1 + 1) * 16 * (sps->frame_mbs_only ? 1 : 2) -
                    y * (sps->crop_top + sps->crop_bottom));
}

bool fw_h264_sps_fix(struct fw_h264_sps *sps, int level)
{
    struct fw_h264_vui *vui = &sps->vui;
    // A decoder buffer smaller than the reference count would be an invalid stream.
    const uint32_t buffering = sps->max_num_ref_frames > 1 ? sps->max_num_ref_frames : 1;
    const bool colour_ok = vui->signal_present && !vui->full_range && vui->colour_present &&
                           vui->primaries == FW_H264_COLOUR_BT709 &&
                           vui->transfer == FW_H264_COLOUR_BT709 &&
                           vui->matrix == FW_H264_COLOUR_BT709;
    const bool order_ok = vui->restriction_present && vui->max_num_reorder_frames == 0 &&
                          vui->max_dec_frame_buffering == buffering;
    const bool level_ok = sps->level_idc >= level;
    if (sps->vui_present && colour_ok && order_ok && level_ok) {
        return false;
    }
    if (!vui->signal_present) {
        vui->video_format = FW_H264_VIDEO_FORMAT_UNSPECIFIED;
    }
    vui->signal_present = true;
    vui->full_range = false;
    vui->colour_present = true;
    vui->primaries = vui->transfer = vui->matrix = FW_H264_COLOUR_BT709;
    if (!vui->restriction_present) {
        // What the standard infers when the fields are absent.
        vui->mv_over_boundaries = true;
        vui->max_bytes_per_pic_denom = 2;
        vui->max_bits_per_mb_denom = 1;
        vui->log2_max_mv_horizontal = vui->log2_max_mv_vertical = 15;
    }
    vui->restriction_present = true;
    vui->max_num_reorder_frames = 0;
    vui->max_dec_frame_buffering = buffering;
    sps->vui_present = true;
    if (!level_ok) {
        sps->level_idc = (uint8_t)level;
    }
    return true;
}

void fw_h264_codec_string(const uint8_t *nal, char *out, size_t out_size)
{
    snprintf(out, out_size, "avc1.%02x%02x%02x", nal[1], nal[2], nal[3]);
}

// Table A-1; the bit rate is that of the Baseline and Main profiles, which High exceeds.
static const struct {
    int idc;
    int64_t mbs_per_s;
    int frame_mbs;
    int kbps;
} levels[] = {
    { 10, 1485, 99, 64 },
    { 11, 3000, 396, 192 },
    { 12, 6000, 396, 384 },
    { 13, 11880, 396, 768 },
    { 20, 11880, 396, 2000 },
    { 21, 19800, 792, 4000 },
    { 22, 20250, 1620, 4000 },
    { 30, 40500, 1620, 10000 },
    { 31, 108000, 3600, 14000 },
    { 32, 216000, 5120, 20000 },
    { 40, 245760, 8192, 20000 },
    { 41, 245760, 8192, 50000 },
    { 42, 522240, 8704, 50000 },
    { 50, 589824, 22080, 135000 },
    { 51, 983040, 36864, 240000 },
    { 52, 2073600, 36864, 240000 },
    { 60, 4177920, 139264, 240000 },
    { 61, 8355840, 139264, 480000 },
    { 62, 16711680, 139264, 800000 },
};

int fw_h264_level(int width, int height, int fps, int bitrate_kbps)
{
    const int64_t w = (width + 15) / 16, h = (height + 15) / 16;
    const size_t count = sizeof(levels) / sizeof(levels[0]);
    for (size_t i = 0; i < count; i++) {
        // Neither side may be longer than sqrt(8 * MaxFS) macroblocks (A.3.1).
        const int64_t side = (int64_t)levels[i].frame_mbs * 8;
        if (w * h <= levels[i].frame_mbs && w * w <= side && h * h <= side &&
            w * h * fps <= levels[i].mbs_per_s && bitrate_kbps <= levels[i].kbps) {
            return levels[i].idc;
        }
    }
    return levels[count - 1].idc;
}

// SPDX-License-Identifier: MIT
#include "encode/h264_sps.h"

#include "encode/h264_bits.h"

static void write_high(struct fw_bit_writer *w, const struct fw_h264_sps *sps)
{
    fw_bits_put_ue(w, sps->chroma_format_idc);
    if (sps->chroma_format_idc == 3) {
        fw_bits_put(w, 1, sps->separate_colour_planes);
    }
    fw_bits_put_ue(w, sps->bit_depth_luma_minus8);
    fw_bits_put_ue(w, sps->bit_depth_chroma_minus8);
    fw_bits_put(w, 1, sps->transform_bypass);
    fw_bits_put(w, 1, sps->scaling_present);
    const unsigned lists = sps->chroma_format_idc == 3 ? 12 : 8;
    for (unsigned i = 0; sps->scaling_present && i < lists; i++) {
        fw_bits_put(w, 1, sps->scaling_list_present[i]);
        for (unsigned k = 0; sps->scaling_list_present[i] && k < sps->scaling_count[i]; k++) {
            fw_bits_put_se(w, sps->scaling_delta[i][k]);
        }
    }
}

static void write_poc(struct fw_bit_writer *w, const struct fw_h264_sps *sps)
{
    fw_bits_put_ue(w, sps->poc_type);
    if (sps->poc_type == 0) {
        fw_bits_put_ue(w, sps->log2_max_poc_lsb_minus4);
    } else if (sps->poc_type == 1) {
        fw_bits_put(w, 1, sps->delta_pic_order_always_zero);
        fw_bits_put_se(w, sps->offset_for_non_ref);
        fw_bits_put_se(w, sps->offset_top_to_bottom);
        fw_bits_put_ue(w, sps->poc_cycle_length);
        for (uint32_t i = 0; i < sps->poc_cycle_length; i++) {
            fw_bits_put_se(w, sps->offset_for_ref[i]);
        }
    }
}

static void write_hrd(struct fw_bit_writer *w, const struct fw_h264_hrd *hrd)
{
    fw_bits_put_ue(w, hrd->cpb_count_minus1);
    fw_bits_put(w, 4, hrd->bit_rate_scale);
    fw_bits_put(w, 4, hrd->cpb_size_scale);
    for (uint32_t i = 0; i <= hrd->cpb_count_minus1; i++) {
        fw_bits_put_ue(w, hrd->cpb[i].bit_rate_minus1);
        fw_bits_put_ue(w, hrd->cpb[i].cpb_size_minus1);
        fw_bits_put(w, 1, hrd->cpb[i].cbr);
    }
    fw_bits_put(w, 5, hrd->initial_delay_length_minus1);
    fw_bits_put(w, 5, hrd->removal_delay_length_minus1);
    fw_bits_put(w, 5, hrd->output_delay_length_minus1);
    fw_bits_put(w, 5, hrd->time_offset_length);
}

static void write_vui_colour(struct fw_bit_writer *w, const struct fw_h264_vui *vui)
{
    fw_bits_put(w, 1, vui->aspect_present);
    if (vui->aspect_present) {
        fw_bits_put(w, 8, vui->aspect_idc);
        if (vui->aspect_idc == FW_H264_EXTENDED_SAR) {
            fw_bits_put(w, 16, vui->sar_width);
            fw_bits_put(w, 16, vui->sar_height);
        }
    }
    fw_bits_put(w, 1, vui->overscan_present);
    if (vui->overscan_present) {
        fw_bits_put(w, 1, vui->overscan_appropriate);
    }
    fw_bits_put(w, 1, vui->signal_present);
    if (vui->signal_present) {
        fw_bits_put(w, 3, vui->video_format);
        fw_bits_put(w, 1, vui->full_range);
        fw_bits_put(w, 1, vui->colour_present);
        if (vui->colour_present) {
            fw_bits_put(w, 8, vui->primaries);
            fw_bits_put(w, 8, vui->transfer);
            fw_bits_put(w, 8, vui->matrix);
        }
    }
    fw_bits_put(w, 1, vui->chroma_loc_present);
    if (vui->chroma_loc_present) {
        fw_bits_put_ue(w, vui->chroma_loc_top);
        fw_bits_put_ue(w, vui->chroma_loc_bottom);
    }
}

static void write_vui(struct fw_bit_writer *w, const struct fw_h264_vui *vui)
{
    write_vui_colour(w, vui);
    fw_bits_put(w, 1, vui->timing_present);
    if (vui->timing_present) {
        fw_bits_put(w, 32, vui->units_in_tick);
        fw_bits_put(w, 32, vui->time_scale);
        fw_bits_put(w, 1, vui->fixed_frame_rate);
    }
    fw_bits_put(w, 1, vui->nal_hrd_present);
    if (vui->nal_hrd_present) {
        write_hrd(w, &vui->nal_hrd);
    }
    fw_bits_put(w, 1, vui->vcl_hrd_present);
    if (vui->vcl_hrd_present) {
        write_hrd(w, &vui->vcl_hrd);
    }
    if (vui->nal_hrd_present || vui->vcl_hrd_present) {
        fw_bits_put(w, 1, vui->low_delay_hrd);
    }
    fw_bits_put(w, 1, vui->pic_struct_present);
    fw_bits_put(w, 1, vui->restriction_present);
    if (vui->restriction_present) {
        fw_bits_put(w, 1, vui->mv_over_boundaries);
        fw_bits_put_ue(w, vui->max_bytes_per_pic_denom);
        fw_bits_put_ue(w, vui->max_bits_per_mb_denom);
        fw_bits_put_ue(w, vui->log2_max_mv_horizontal);
        fw_bits_put_ue(w, vui->log2_max_mv_vertical);
        fw_bits_put_ue(w, vui->max_num_reorder_frames);
        fw_bits_put_ue(w, vui->max_dec_frame_buffering);
    }
}

static void write_body(struct fw_bit_writer *w, const struct fw_h264_sps *sps)
{
    fw_bits_put(w, 8, sps->profile_idc);
    fw_bits_put(w, 8, sps->constraints);
    fw_bits_put(w, 8, sps->level_idc);
    fw_bits_put_ue(w, sps->id);
    if (fw_h264_profile_is_high(sps->profile_idc)) {
        write_high(w, sps);
    }
    fw_bits_put_ue(w, sps->log2_max_frame_num_minus4);
    write_poc(w, sps);
    fw_bits_put_ue(w, sps->max_num_ref_frames);
    fw_bits_put(w, 1, sps->gaps_allowed);
    fw_bits_put_ue(w, sps->width_mbs_minus1);
    fw_bits_put_ue(w, sps->height_units_minus1);
    fw_bits_put(w, 1, sps->frame_mbs_only);
    if (!sps->frame_mbs_only) {
        fw_bits_put(w, 1, sps->mb_adaptive);
    }
    fw_bits_put(w, 1, sps->direct_8x8);
    fw_bits_put(w, 1, sps->crop_present);
    if (sps->crop_present) {
        fw_bits_put_ue(w, sps->crop_left);
        fw_bits_put_ue(w, sps->crop_right);
        fw_bits_put_ue(w, sps->crop_top);
        fw_bits_put_ue(w, sps->crop_bottom);
    }
    fw_bits_put(w, 1, sps->vui_present);
    if (sps->vui_present) {
        write_vui(w, &sps->vui);
    }
    fw_bits_put_trailing(w);
}

enum fw_err fw_h264_sps_write(const struct fw_h264_sps *sps, uint8_t *nal, size_t *size)
{
    uint8_t rbsp[FW_H264_SPS_MAX];
    struct fw_bit_writer w = { .data = rbsp, .capacity = sizeof(rbsp) };
    write_body(&w, sps);
    if (w.bad) {
        return FW_ERR_TOO_LARGE;
    }
    const size_t room = *size, bytes = w.pos / 8;
    size_t n = 0;
    unsigned zeros = 0;
    for (size_t i = 0; i < bytes + 1; i++) {
        const uint8_t byte = i == 0 ? 0x67 : rbsp[i - 1]; // nal_ref_idc 3, type 7
        const bool escape = zeros >= 2 && byte <= 3;
        if (n + 1 + escape > room) {
            return FW_ERR_TOO_LARGE;
        }
        if (escape) {
            nal[n++] = 3;
            zeros = 0;
        }
        zeros = byte == 0 ? zeros + 1 : 0;
        nal[n++] = byte;
    }
    *size = n;
    return FW_OK;
}

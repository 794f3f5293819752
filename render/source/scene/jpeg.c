// SPDX-License-Identifier: MIT
#include "render/source/scene/jpeg.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

// What the library calls back with lies beside it, and what must survive a jump lies here, not on
// the stack of the function that is jumped to.
struct decoder {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    const struct fw_scene_note *trouble;
    enum fw_err err;
    uint8_t *rgba;
};

static struct decoder *decoder_of(j_common_ptr info)
{
    return info->client_data;
}

static void tell(j_common_ptr info)
{
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    fw_scene_fail(decoder_of(info)->trouble, FW_OK, "%s", text);
}

_Noreturn static void give_up(struct decoder *d, enum fw_err err)
{
    d->err = err;
    longjmp(d->escape, 1);
}

static void on_error(j_common_ptr info)
{
    tell(info);
    give_up(decoder_of(info),
            info->err->msg_code == JERR_OUT_OF_MEMORY ? FW_ERR_NOMEM : FW_ERR_FORMAT);
}

static void on_message(j_common_ptr info, int level)
{
    if (level >= 0)
        return; // a trace
    info->err->num_warnings++;
    tell(info);
}

static void print_nothing(j_common_ptr info)
{
    (void)info;
}

// Every scan of a progressive file goes over the whole picture, and a scan may be a few bytes: a
// small file could keep a core busy for hours.
static void on_progress(j_common_ptr info)
{
    struct decoder *d = decoder_of(info);
    if (d->info.input_scan_number > FW_JPEG_MAX_SCANS) {
        fw_scene_fail(d->trouble, FW_OK, "It has more than %d scans.", FW_JPEG_MAX_SCANS);
        give_up(d, FW_ERR_TOO_LARGE);
    }
}

// Jumps to d->escape on failure, like all that follows.
static void read_header(struct decoder *d, const uint8_t *bytes, size_t size)
{
    d->info.err = jpeg_std_error(&d->errors);
    d->errors.error_exit = on_error;
    d->errors.emit_message = on_message;
    d->errors.output_message = print_nothing;
    d->info.client_data = d;
    jpeg_create_decompress(&d->info); // clears all but err and client_data
    d->progress.progress_monitor = on_progress;
    d->info.progress = &d->progress;
    jpeg_mem_src(&d->info, bytes, (unsigned long)size);
    jpeg_read_header(&d->info, TRUE);
}

// libjpeg makes red, green and blue of all but the colours of print.
static void choose_colors(struct decoder *d)
{
    const bool print = d->info.jpeg_color_space == JCS_CMYK || d->info.jpeg_color_space == JCS_YCCK;
    d->info.out_color_space = print ? JCS_CMYK : JCS_EXT_RGBA;
}

// Adobe's programs, and so nearly everybody, write inks inverted.
static void print_to_rgba(const struct decoder *d, uint8_t *row)
{
    const unsigned flip = d->info.saw_Adobe_marker ? 0 : 255;
    for (JDIMENSION x = 0; x < d->info.output_width; x++, row += 4) {
        const unsigned black = row[3] ^ flip;
        for (int k = 0; k < 3; k++)
            row[k] = (uint8_t)(((row[k] ^ flip) * black + 127) / 255);
        row[3] = 255;
    }
}

static void read_rows(struct decoder *d, uint32_t rows)
{
    const size_t stride = (size_t)d->info.output_width * 4;
    while (d->info.output_scanline < rows) {
        JSAMPROW row = d->rgba + d->info.output_scanline * stride;
        jpeg_read_scanlines(&d->info, &row, 1);
        if (d->info.out_color_space == JCS_CMYK)
            print_to_rgba(d, row);
    }
}

// The library rounds sides up.
static void drop_last_column(uint8_t *rgba, size_t from, size_t to, uint32_t rows)
{
    for (uint32_t y = 1; from != to && y < rows; y++)
        memmove(rgba + y * to * 4, rgba + y * from * 4, to * 4);
}

static void decode(struct decoder *d, unsigned halvings, struct fw_scene_pixels *out)
{
    const uint32_t width = d->info.image_width, height = d->info.image_height;
    if (jpeg_has_multiple_scans(&d->info) &&
        (width > FW_JPEG_MAX_SCAN_SIDE || height > FW_JPEG_MAX_SCAN_SIDE)) {
        fw_scene_fail(d->trouble, FW_OK, "It is progressive and larger than %d pixels per side.",
                      FW_JPEG_MAX_SCAN_SIDE);
        give_up(d, FW_ERR_TOO_LARGE);
    }
    choose_colors(d);
    d->info.scale_num = 1;
    d->info.scale_denom = 1u << halvings;
    jpeg_start_decompress(&d->info);
    out->width = width >> halvings ? width >> halvings : 1;
    out->height = height >> halvings ? height >> halvings : 1;
    if (d->info.output_components != 4 || d->info.output_width < out->width ||
        d->info.output_height < out->height)
        give_up(d, FW_ERR_INTERNAL);
    d->rgba = malloc((size_t)d->info.output_width * out->height * 4);
    if (!d->rgba)
        give_up(d, FW_ERR_NOMEM);
    read_rows(d, out->height);
    drop_last_column(d->rgba, d->info.output_width, out->width, out->height);
}

bool fw_jpeg_is(const uint8_t *bytes, size_t size)
{
    return size >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

bool fw_jpeg_size(const uint8_t *bytes, size_t size, uint32_t *width, uint32_t *height)
{
    struct decoder d = { .trouble = NULL };
    if (!setjmp(d.escape)) {
        read_header(&d, bytes, size);
        *width = d.info.image_width;
        *height = d.info.image_height;
    }
    jpeg_destroy_decompress(&d.info);
    return d.err == FW_OK;
}

enum fw_err fw_jpeg_decode(const uint8_t *bytes, size_t size, unsigned halvings, unsigned *done,
                           struct fw_scene_pixels *out, const struct fw_scene_note *trouble)
{
    struct decoder d = { .trouble = trouble };
    *out = (struct fw_scene_pixels){ 0 };
    *done = halvings > 3 ? 3 : halvings;
    if (!setjmp(d.escape)) {
        read_header(&d, bytes, size);
        decode(&d, *done, out);
        out->rgba = d.rgba;
    } else {
        free(d.rgba);
        *out = (struct fw_scene_pixels){ 0 };
    }
    jpeg_destroy_decompress(&d.info);
    return d.err;
}

// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "session/cli/view_run_impl.h"

static struct fw_view_picture planes_of(const AVFrame *f, const struct fw_view_frame_info *info)
{
    struct fw_view_picture p = {
        .interleaved = f->format == AV_PIX_FMT_NV12,
        .full_range = f->color_range == AVCOL_RANGE_JPEG,
        .coded_width = f->width,
        .coded_height = f->height,
        // A decoder that cropped to less than the header says has the last word.
        .width = info->width < f->width ? info->width : f->width,
        .height = info->height < f->height ? info->height : f->height,
    };
    for (int i = 0; i < 3; i++) {
        p.plane[i] = f->data[i];
        p.stride[i] = f->linesize[i];
    }
    return p;
}

static void on_screen(struct fw_view_run *r, uint64_t frame_id, int64_t now_ns)
{
    fw_view_figures_presented(r->figures, frame_id, now_ns);
    fw_view_link_ack(r->link, frame_id, FW_ACK_PRESENTED, now_ns);
    if (!r->first_ns)
        r->first_ns = now_ns;
    r->presented++;
}

void fw_view_settle(struct fw_view_run *r)
{
    unsigned done = 0;
    while (done < r->pending_count &&
           fw_view_present_shown(r->present, r->pending[done].present_id))
        done++;
    const int64_t now = fw_now_ns();
    for (unsigned i = 0; i < done; i++)
        if (r->pending[i].frame_id)
            on_screen(r, r->pending[i].frame_id, now);
    r->pending_count -= done;
    memmove(r->pending, r->pending + done, r->pending_count * sizeof(r->pending[0]));
}

static void draw_hud(struct fw_view_run *r, int dot)
{
    struct fw_view_reading reading;
    struct fw_view_link_state state;
    char decoder[24], present[40];
    if (r->help) {
        fw_view_help_draw(&r->hud_canvas, dot);
        return;
    }
    fw_view_figures_read(r->figures, fw_now_ns(), &reading);
    fw_view_link_get(r->link, &state);
    fw_view_player_decoder(r->player, decoder, sizeof(decoder));
    snprintf(present, sizeof(present), "%s, %s", fw_view_present_how(r->present),
             fw_view_present_exact(r->present) ? "when shown" : "when drawn");
    fw_view_hud_draw(
        &r->hud_canvas, &reading,
        &(struct fw_view_hud_words){ .encoder = state.info.encoder,
                                     .decoder = decoder,
                                     .present = present,
                                     .recording = r->record ? r->options->record : NULL },
        r->hud == FW_VIEW_HUD_FULL, dot);
}

// Letters as large as on a usual screen; smaller where they would not fit.
static int dot_of(const struct fw_view_window *w)
{
    int dot = (int)(w->ratio * 2 + 0.5);
    while (dot > 1 && (w->width < 235 * dot || w->height < 335 * dot))
        dot--;
    return dot;
}

enum fw_err fw_view_show(struct fw_view_run *r)
{
    const struct fw_view_window *w = &r->window;
    const int dot = dot_of(w);
    struct fw_view_picture planes;
    struct fw_view_scene scene = { .dark = r->status.level == FW_VIEW_LEVEL_VEIL };
    uint64_t id = 0;
    if (r->picture_due) {
        planes = planes_of(r->picture, &r->info);
        scene.picture = &planes;
        r->window.picture_width = planes.width;
        r->window.picture_height = planes.height;
    }
    if ((r->hud || r->help) && r->hud_canvas.pixels)
        scene.panels[0] = (struct fw_view_panel){
            r->hud_canvas.pixels, r->hud_canvas.width, r->hud_canvas.height, 6 * dot, 6 * dot,
            r->hud_canvas.version
        };
    if (r->status.level != FW_VIEW_LEVEL_OK && r->card_canvas.pixels) {
        const struct fw_view_canvas *c = &r->card_canvas;
        scene.panels[1] = (struct fw_view_panel){ c->pixels,
                                                  c->width,
                                                  c->height,
                                                  (w->width - c->width) / 2,
                                                  scene.dark ? (w->height - c->height) / 2
                                                             : w->height - c->height - 10 * dot,
                                                  c->version };
    }
    const enum fw_err err = fw_view_present_draw(r->present, &scene, w->width, w->height, &id);
    if (err == FW_ERR_AGAIN)
        return FW_OK; // what was due stays due
    if (err)
        return err;
    if (r->picture_due && id && r->pending_count < FW_VIEW_PENDING) {
        r->pending[r->pending_count].present_id = id;
        r->pending[r->pending_count++].frame_id = r->info.frame_id;
    } else if (r->picture_due) {
        fw_view_figures_dropped(r->figures);
        fw_view_link_ack(r->link, r->info.frame_id, FW_ACK_DROPPED, fw_now_ns());
    }
    r->picture_due = false;
    r->redraw = false;
    return FW_OK;
}

void fw_view_follow_status(struct fw_view_run *r)
{
    struct fw_view_link_state state;
    struct fw_view_status status;
    char title[160];
    fw_view_link_get(r->link, &state);
    if (state.phase == FW_VIEW_OPEN && r->phase != FW_VIEW_OPEN)
        fw_view_window_forget(&r->window);
    r->phase = state.phase;
    fw_view_status_of(&state, r->presented, &status);
    if (status.level == r->status.level && strcmp(status.title, r->status.title) == 0 &&
        strcmp(status.text, r->status.text) == 0)
        return;
    if (status.level != FW_VIEW_LEVEL_OK)
        fw_log(r->log, FW_LOG_INFO, "view", "%s: %s", status.title, status.text);
    if (status.over)
        fprintf(stderr, "framewire view: %s. %s\n", status.title, status.text);
    r->status = status;
    r->redraw = true;
    snprintf(title, sizeof(title), "%s – framewire", state.info.title);
    if (state.info.title[0])
        fw_view_window_title(&r->window, title);
}

void fw_view_follow_words(struct fw_view_run *r, int64_t now_ns)
{
    const int dot = dot_of(&r->window);
    if ((r->hud || r->help) && now_ns - r->hud_ns >= FW_VIEW_HUD_MS * (int64_t)FW_NS_PER_MS) {
        draw_hud(r, dot);
        r->hud_ns = now_ns;
        r->redraw = true;
    }
    if (r->redraw && r->status.level != FW_VIEW_LEVEL_OK)
        fw_view_status_draw(&r->card_canvas, &r->status, r->window.width, dot);
}

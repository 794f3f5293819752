// SPDX-License-Identifier: MIT
#include "session/cli/view_run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/cli/view_run_impl.h"

enum {
    IDLE_MS = 1000,
    SETTLE_MS = 100, // a change of size goes out at once, those right behind it together
    MAX_WIDTH = 3840,
    MAX_HEIGHT = 2160,
    MIN_SIDE = 16,
};
static const double POLL_S = 0.0005; // while a picture is on its way to the screen

static atomic_int signalled;

void view_run_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

// The first signal ends the session in order, the second one at once.
static void *wait_for_signals(void *user)
{
    sigset_t set;
    int number;
    (void)user;
    view_run_signals(&set);
    for (int count = 0; !sigwait(&set, &number); count++) {
        if (count)
            _exit(128 + number);
        signalled = number;
        view_window_wake();
    }
    return NULL;
}

// ---- called by other threads

static void on_video(void *user, const struct fw_wire_video *video, int64_t now_ns)
{
    const struct view_run *r = user;
    view_player_feed(r->player, video, now_ns);
}

static void on_restart(void *user)
{
    const struct view_run *r = user;
    view_player_restart(r->player);
}

static void on_changed(void *user)
{
    (void)user;
    view_window_wake();
}

static void on_ack(void *user, uint64_t frame_id, enum fw_wire_ack_what what, int64_t at_ns)
{
    const struct view_run *r = user;
    view_link_ack(r->link, frame_id, what, at_ns);
}

static void on_want_key(void *user, const char *reason)
{
    const struct view_run *r = user;
    view_link_want_key(r->link, reason);
}

static void on_input(void *user, const struct fw_wire_input *event)
{
    const struct view_run *r = user;
    if (r->link && !r->window.hidden)
        view_link_input(r->link, event);
}

// ---- making it

static enum fw_err open_display(struct view_run *r, char *message, size_t size)
{
    const struct view_options *o = r->options;
    const char *convert = o->convert;
    enum fw_err err = view_window_create(&r->window, &(struct view_window_params){
                                                         .width = o->width,
                                                         .height = o->height,
                                                         .fullscreen = o->fullscreen,
                                                         .input = on_input,
                                                         .user = r,
                                                     });
    if (err) {
        snprintf(message, size, "%s", r->window.why);
        return err;
    }
    err = view_gpu_create(&r->gpu, &(struct view_gpu_params){
                                       .window = r->window.handle,
                                       .select = o->gpu,
                                       .validation = o->validation,
                                       .log = r->log,
                                   });
    if (!err)
        err =
            view_present_create(&r->present, &(struct view_present_params){
                                                 .gpu = &r->gpu,
                                                 .convert = convert[0] == 'c'   ? VIEW_CONVERT_CPU
                                                            : convert[0] == 'g' ? VIEW_CONVERT_GPU
                                                                                : VIEW_CONVERT_AUTO,
                                                 .width = r->window.width,
                                                 .height = r->window.height,
                                             });
    if (err)
        snprintf(message, size, "%s", r->gpu.why);
    return err;
}

static enum fw_err open_decoder(struct view_run *r, char *message, size_t size)
{
    const char *kind = r->options->decoder;
    const bool software = strcasecmp(kind, "cpu") == 0;
    const enum fw_err err =
        view_player_create(&r->player, &(struct view_player_params){
                                           .decoder = {
                                               .software = software,
                                               .hw = strcasecmp(kind, "auto") == 0 ? NULL : kind,
                                               .log = r->log,
                                           },
                                           .figures = r->figures,
                                           .record = r->record,
                                           .ack = on_ack,
                                           .want_key = on_want_key,
                                           .ready = on_changed,
                                           .user = r,
                                           .log = r->log,
                                       });
    if (err == FW_ERR_NOT_FOUND)
        snprintf(message, size,
                 "--decoder %.40s: there is no such device here; auto takes what "
                 "there is",
                 kind);
    else if (err == FW_ERR_UNSUPPORTED)
        snprintf(message, size, "this libavcodec decodes no H.264");
    else if (err)
        snprintf(message, size, "the decoder does not start: %s", fw_err_name(err));
    return err;
}

enum fw_err view_run_create(struct view_run **run, const struct view_options *options,
                            char *message, size_t size)
{
    *run = NULL;
    struct view_run *r = calloc(1, sizeof(*r));
    enum fw_err err = FW_ERR_NOMEM;
    snprintf(message, size, "out of memory");
    if (!r)
        return err;
    r->options = options;
    r->log = fw_log_stderr(options->log_level);
    r->hud = options->hud ? VIEW_HUD_FULL : VIEW_HUD_OFF;
    r->figures = view_figures_create();
    r->picture = av_frame_alloc();
    if (!r->figures || !r->picture)
        goto error;
    err = open_display(r, message, size);
    if (!err && options->record)
        err = view_record_start(&r->record,
                                &(struct view_record_params){
                                    .path = options->record,
                                    .overwrite = options->force,
                                    .want_key = on_want_key,
                                    .user = r,
                                    .log = r->log,
                                },
                                message, size);
    if (!err)
        err = open_decoder(r, message, size);
    if (err)
        goto error;
    *run = r;
    return FW_OK;
error:
    view_run_destroy(&r);
    return err;
}

void view_run_destroy(struct view_run **run)
{
    struct view_run *r = *run;
    char words[512];
    *run = NULL;
    if (!r || r->stuck) // its threads may still look at all of it; the process ends now
        return;
    view_player_destroy(&r->player);
    view_record_stop(&r->record, words, sizeof(words));
    view_link_destroy(&r->link); // last of the threads' things: they speak through it
    view_present_destroy(&r->present);
    if (r->gpu.instance)
        view_gpu_finish(&r->gpu);
    if (r->window.handle)
        view_window_destroy(&r->window);
    view_canvas_finish(&r->hud_canvas);
    view_canvas_finish(&r->card_canvas);
    view_figures_destroy(&r->figures);
    av_frame_free(&r->picture);
    free(r);
}

static int clamp(double side, int most)
{
    return side < MIN_SIDE ? MIN_SIDE : side > most ? most : (int)(side + 0.5);
}

void view_run_size(const struct view_run *r, int *width, int *height)
{
    double shrink = 1; // the same shape when it is too large
    if (r->window.width > MAX_WIDTH)
        shrink = (double)MAX_WIDTH / r->window.width;
    if (r->window.height * shrink > MAX_HEIGHT)
        shrink = (double)MAX_HEIGHT / r->window.height;
    *width = clamp(r->window.width * shrink, MAX_WIDTH);
    *height = clamp(r->window.height * shrink, MAX_HEIGHT);
}

// ---- a turn of the loop

static void follow_window(struct view_run *r, int64_t now_ns)
{
    struct view_window *w = &r->window;
    int width, height;
    const bool pressed = w->hud_presses || w->help_presses;
    r->hud = (r->hud + w->hud_presses) % VIEW_HUD_SIZES;
    r->help ^= w->help_presses % 2;
    if (pressed)
        r->hud_ns = 0;
    r->redraw |= pressed || w->resized || w->exposed;
    w->hud_presses = w->help_presses = 0;
    w->resized = w->exposed = false;
    view_player_pause(r->player, w->hidden);
    view_link_visible(r->link, !w->hidden);
    view_run_size(r, &width, &height);
    if ((width != r->sent_width || height != r->sent_height) && w->width && w->height &&
        now_ns - r->size_ns >= SETTLE_MS * (int64_t)FW_NS_PER_MS) {
        view_link_viewport(r->link, width, height);
        r->sent_width = width;
        r->sent_height = height;
        r->size_ns = now_ns;
    }
}

static double rest_of(const struct view_run *r)
{
    int width, height;
    view_run_size(r, &width, &height);
    if (r->picture_due || r->redraw)
        return 0;
    if (r->pending_count)
        return POLL_S;
    if (r->window.width && (width != r->sent_width || height != r->sent_height))
        return SETTLE_MS / 1000.0;
    return (r->hud || r->help ? VIEW_HUD_MS : IDLE_MS) / 1000.0;
}

static bool over(const struct view_run *r, int64_t now_ns)
{
    const struct view_options *o = r->options;
    const bool limited = o->frames || o->seconds > 0;
    return r->window.closed || signalled || (o->frames && r->presented >= (uint64_t)o->frames) ||
           (o->seconds > 0 && r->first_ns &&
            (double)(now_ns - r->first_ns) / FW_NS_PER_S >= o->seconds) ||
           (limited && r->status.over);
}

static enum fw_err turn(struct view_run *r)
{
    view_window_wait(&r->window, rest_of(r));
    const int64_t now = fw_now_ns();
    follow_window(r, now);
    view_settle(r);
    view_follow_status(r);
    if (view_player_take(r->player, r->picture, &r->info))
        r->picture_due = true;
    view_follow_words(r, now);
    enum fw_err err = FW_OK;
    if ((r->picture_due || r->redraw) && !r->window.hidden && r->pending_count < VIEW_PENDING)
        err = view_show(r);
    if (!err)
        view_settle(r);
    return err;
}

// ---- the whole

static void write_stats(const struct view_run *r, double seconds)
{
    FILE *out = fopen(r->options->stats, "w");
    if (!out) {
        fprintf(stderr, "framewire view: --stats %s: can't be written\n", r->options->stats);
        return;
    }
    view_figures_write(r->figures, out, seconds);
    fclose(out);
}

static int finish(struct view_run *r, enum fw_err err)
{
    char words[512] = "";
    const double seconds = r->first_ns ? (double)(fw_now_ns() - r->first_ns) / FW_NS_PER_S : 0;
    int code = err != FW_OK;
    if (err)
        fprintf(stderr, "framewire view: %s\n", r->gpu.why);
    glfwHideWindow(r->window.handle);
    if (r->link)
        r->stuck = !view_link_stop(r->link);
    const bool recording = r->record != NULL;
    if (recording) {
        code |= view_record_stop(&r->record, words, sizeof(words)) != FW_OK;
        fprintf(stderr, "framewire view: %s\n", words);
    }
    if (r->options->stats)
        write_stats(r, seconds);
    if (r->options->validation && r->gpu.validation_messages)
        code = 1;
    // Whoever asked for so many pictures has not got them.
    if ((r->options->frames || r->options->seconds > 0) && r->status.over)
        code = 1;
    return code;
}

int view_run_session(struct view_run *r, const struct fw_remote *remote,
                     const struct fw_remote_session *session)
{
    int width, height;
    pthread_t signals;
    view_window_show(&r->window);
    view_run_size(r, &width, &height);
    r->sent_width = width;
    r->sent_height = height;
    enum fw_err err =
        view_link_start(&r->link, &(struct view_link_params){
                                      .remote = remote,
                                      .id = session->id,
                                      .token = session->token[0] ? session->token : remote->token,
                                      .width = width,
                                      .height = height,
                                      .pixel_ratio = r->window.ratio,
                                      .figures = r->figures,
                                      .video = on_video,
                                      .restart = on_restart,
                                      .changed = on_changed,
                                      .user = r,
                                      .log = r->log,
                                  });
    if (err) {
        snprintf(r->gpu.why, sizeof(r->gpu.why), "no thread for the connection");
        return finish(r, err);
    }
    if (!pthread_create(&signals, NULL, wait_for_signals, NULL))
        pthread_detach(signals);
    r->redraw = true;
    while (!err && !over(r, fw_now_ns()))
        err = turn(r);
    return finish(r, err);
}

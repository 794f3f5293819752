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

void fw_view_run_signals(sigset_t *set)
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
    fw_view_run_signals(&set);
    for (int count = 0; !sigwait(&set, &number); count++) {
        if (count)
            _exit(128 + number);
        signalled = number;
        fw_view_window_wake();
    }
    return NULL;
}

// ---- called by other threads

static void on_video(void *user, const struct fw_wire_video *video, int64_t now_ns)
{
    const struct fw_view_run *r = user;
    fw_view_player_feed(r->player, video, now_ns);
}

static void on_restart(void *user)
{
    const struct fw_view_run *r = user;
    fw_view_player_restart(r->player);
}

static void on_changed(void *user)
{
    (void)user;
    fw_view_window_wake();
}

static void on_ack(void *user, uint64_t frame_id, enum fw_wire_ack_what what, int64_t at_ns)
{
    const struct fw_view_run *r = user;
    fw_view_link_ack(r->link, frame_id, what, at_ns);
}

static void on_want_key(void *user, const char *reason)
{
    const struct fw_view_run *r = user;
    fw_view_link_want_key(r->link, reason);
}

static void on_input(void *user, const struct fw_wire_input *event)
{
    const struct fw_view_run *r = user;
    if (r->link && !r->window.hidden)
        fw_view_link_input(r->link, event);
}

// ---- making it

static enum fw_err open_display(struct fw_view_run *r, char *message, size_t size)
{
    const struct fw_view_options *o = r->options;
    const char *convert = o->convert;
    enum fw_err err = fw_view_window_create(&r->window, &(struct fw_view_window_params){
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
    err = fw_view_gpu_create(&r->gpu, &(struct fw_view_gpu_params){
                                          .window = r->window.handle,
                                          .select = o->gpu,
                                          .validation = o->validation,
                                          .log = r->log,
                                      });
    if (!err)
        err = fw_view_present_create(&r->present,
                                     &(struct fw_view_present_params){
                                         .gpu = &r->gpu,
                                         .convert = convert[0] == 'c'   ? FW_VIEW_CONVERT_CPU
                                                    : convert[0] == 'g' ? FW_VIEW_CONVERT_GPU
                                                                        : FW_VIEW_CONVERT_AUTO,
                                         .width = r->window.width,
                                         .height = r->window.height,
                                     });
    if (err)
        snprintf(message, size, "%s", r->gpu.why);
    return err;
}

static enum fw_err open_decoder(struct fw_view_run *r, char *message, size_t size)
{
    const char *kind = r->options->decoder;
    const bool software = strcasecmp(kind, "cpu") == 0;
    const enum fw_err err =
        fw_view_player_create(&r->player, &(struct fw_view_player_params){
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

static enum fw_err start_record(struct fw_view_run *r, char *message, size_t size)
{
    const struct fw_view_record_params params = {
        .path = r->options->record,
        .overwrite = r->options->force,
        .want_key = on_want_key,
        .user = r,
        .log = r->log,
    };
    return fw_view_record_start(&r->record, &params, message, size);
}

enum fw_err fw_view_run_create(struct fw_view_run **run, const struct fw_view_options *options,
                               char *message, size_t size)
{
    *run = NULL;
    struct fw_view_run *r = calloc(1, sizeof(*r));
    enum fw_err err = FW_ERR_NOMEM;
    snprintf(message, size, "out of memory");
    if (!r)
        return err;
    r->options = options;
    r->log = fw_log_stderr(options->log_level);
    r->hud = options->hud ? FW_VIEW_HUD_FULL : FW_VIEW_HUD_OFF;
    r->figures = fw_view_figures_create();
    r->picture = av_frame_alloc();
    if (!r->figures || !r->picture)
        goto error;
    // What is quickly refused comes first.
    err = options->record ? start_record(r, message, size) : FW_OK;
    if (!err)
        err = open_decoder(r, message, size);
    if (!err)
        err = open_display(r, message, size);
    if (err)
        goto error;
    // From here on: a server that does not answer must not make the viewer deaf.
    pthread_t signals;
    if (!pthread_create(&signals, NULL, wait_for_signals, NULL))
        pthread_detach(signals);
    *run = r;
    return FW_OK;
error:
    fw_view_run_destroy(&r);
    return err;
}

void fw_view_run_destroy(struct fw_view_run **run)
{
    struct fw_view_run *r = *run;
    char words[512];
    *run = NULL;
    if (!r)
        return;
    fw_view_player_destroy(&r->player);
    fw_view_record_stop(&r->record, words, sizeof(words));
    fw_view_link_destroy(&r->link); // last of the threads' things: they speak through it
    fw_view_present_destroy(&r->present);
    if (r->gpu.instance)
        fw_view_gpu_finish(&r->gpu);
    if (r->window.handle)
        fw_view_window_destroy(&r->window);
    fw_view_canvas_finish(&r->hud_canvas);
    fw_view_canvas_finish(&r->card_canvas);
    fw_view_figures_destroy(&r->figures);
    av_frame_free(&r->picture);
    free(r);
}

static int clamp(double side, int most)
{
    return side < MIN_SIDE ? MIN_SIDE : side > most ? most : (int)(side + 0.5);
}

void fw_view_run_size(const struct fw_view_run *r, int *width, int *height)
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

static void follow_window(struct fw_view_run *r, int64_t now_ns)
{
    struct fw_view_window *w = &r->window;
    int width, height;
    const bool pressed = w->hud_presses || w->help_presses;
    r->hud = (r->hud + w->hud_presses) % FW_VIEW_HUD_SIZES;
    r->help ^= w->help_presses % 2;
    if (pressed)
        r->hud_ns = 0;
    r->redraw |= pressed || w->resized || w->exposed;
    w->hud_presses = w->help_presses = 0;
    w->resized = w->exposed = false;
    fw_view_player_pause(r->player, w->hidden);
    fw_view_link_visible(r->link, !w->hidden);
    fw_view_run_size(r, &width, &height);
    if ((width != r->sent_width || height != r->sent_height) && w->width && w->height &&
        now_ns - r->size_ns >= SETTLE_MS * (int64_t)FW_NS_PER_MS) {
        fw_view_link_viewport(r->link, width, height);
        r->sent_width = width;
        r->sent_height = height;
        r->size_ns = now_ns;
    }
}

static double rest_of(const struct fw_view_run *r)
{
    int width, height;
    fw_view_run_size(r, &width, &height);
    if (r->picture_due || r->redraw)
        return 0;
    if (r->pending_count)
        return POLL_S;
    if (r->window.width && (width != r->sent_width || height != r->sent_height))
        return SETTLE_MS / 1000.0;
    return (r->hud || r->help ? FW_VIEW_HUD_MS : IDLE_MS) / 1000.0;
}

static bool over(const struct fw_view_run *r, int64_t now_ns)
{
    const struct fw_view_options *o = r->options;
    const bool limited = o->frames || o->seconds > 0;
    return r->window.closed || signalled || (o->frames && r->presented >= (uint64_t)o->frames) ||
           (o->seconds > 0 && r->first_ns &&
            (double)(now_ns - r->first_ns) / FW_NS_PER_S >= o->seconds) ||
           (limited && r->status.over);
}

static enum fw_err turn(struct fw_view_run *r)
{
    fw_view_window_wait(&r->window, rest_of(r));
    const int64_t now = fw_now_ns();
    follow_window(r, now);
    fw_view_settle(r);
    fw_view_follow_status(r);
    if (fw_view_player_take(r->player, r->picture, &r->info))
        r->picture_due = true;
    fw_view_follow_words(r, now);
    enum fw_err err = FW_OK;
    if ((r->picture_due || r->redraw) && !r->window.hidden && r->pending_count < FW_VIEW_PENDING)
        err = fw_view_show(r);
    if (!err)
        fw_view_settle(r);
    return err;
}

// ---- the whole

static bool write_stats(const struct fw_view_run *r, double seconds)
{
    FILE *out = fopen(r->options->stats, "w");
    bool ok = out != NULL;
    if (out) {
        fw_view_figures_write(r->figures, out, seconds);
        ok = !ferror(out);
        ok = fclose(out) == 0 && ok;
    }
    if (!ok)
        fprintf(stderr, "framewire view: --stats %s: can't be written\n", r->options->stats);
    return ok;
}

static int finish(struct fw_view_run *r, enum fw_err err)
{
    char words[512] = "";
    const double seconds = r->first_ns ? (double)(fw_now_ns() - r->first_ns) / FW_NS_PER_S : 0;
    int code = err != FW_OK;
    if (err)
        fprintf(stderr, "framewire view: %s\n", r->gpu.why);
    glfwHideWindow(r->window.handle);
    glfwPollEvents(); // sends that
    const bool stuck = r->link && !fw_view_link_stop(r->link);
    const bool recording = r->record != NULL;
    if (recording) {
        code |= fw_view_record_stop(&r->record, words, sizeof(words)) != FW_OK;
        fprintf(stderr, "framewire view: %s\n", words);
    }
    if (r->options->stats && !write_stats(r, seconds))
        code = 1;
    if (r->options->validation && r->gpu.validation_messages)
        code = 1;
    // Whoever asked for so many pictures has not got them.
    if ((r->options->frames || r->options->seconds > 0) && r->status.over)
        code = 1;
    if (stuck) {
        // The link's thread may still look at all there is, so nothing of it is taken down.
        fflush(NULL);
        _exit(code);
    }
    return code;
}

int fw_view_run_session(struct fw_view_run *r, const struct fw_remote *remote,
                        const struct fw_remote_session *session)
{
    int width, height;
    fw_view_window_show(&r->window);
    fw_view_run_size(r, &width, &height);
    r->sent_width = width;
    r->sent_height = height;
    enum fw_err err = fw_view_link_start(
        &r->link, &(struct fw_view_link_params){
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
    r->redraw = true;
    while (!err && !over(r, fw_now_ns()))
        err = turn(r);
    return finish(r, err);
}

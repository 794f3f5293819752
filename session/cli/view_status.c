// SPDX-License-Identifier: MIT
#include "session/cli/view_status.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// As a sentence: a capital first, a full stop last.
static void sentence(const char *text, const char *otherwise, char *out, size_t size)
{
    const char *words = text[0] ? text : otherwise;
    const size_t n = strlen(words);
    const bool stop = n && !strchr(".!?", words[n - 1]);
    snprintf(out, size, "%.*s%s", (int)size - 2, words, stop ? "." : "");
    out[0] = (char)toupper((unsigned char)out[0]);
}

static void say(struct fw_view_status *s, enum fw_view_level level, const char *title,
                const char *text, const char *otherwise)
{
    s->level = level;
    snprintf(s->title, sizeof(s->title), "%s", title);
    sentence(text, otherwise, s->text, sizeof(s->text));
}

static void ended(const struct fw_view_link_state *st, struct fw_view_status *s)
{
    const char *why = st->message[0] ? st->message : st->info.message;
    s->over = true;
    if (strcmp(st->code, "unauthorized") == 0)
        say(s, FW_VIEW_LEVEL_VEIL, "This session is protected", st->message,
            "Give the token with --token-file FILE.");
    else if (strcmp(st->code, "no_such_session") == 0)
        say(s, FW_VIEW_LEVEL_VEIL, "This session is over", "",
            "It was closed, or it ended when nobody was watching.");
    else if (strcmp(st->code, "unsupported_version") == 0)
        say(s, FW_VIEW_LEVEL_VEIL, "The server speaks another version", st->message,
            "Install the framewire that the server has.");
    else if (strcmp(st->code, "untrusted") == 0)
        say(s, FW_VIEW_LEVEL_VEIL, "The server is not trusted", st->message,
            "Give its certificate with --tls-ca FILE.");
    else if (strcmp(st->info.state, "failed") == 0)
        say(s, FW_VIEW_LEVEL_VEIL, "The session has failed", st->info.message,
            "The server gave no reason.");
    else if (strcmp(why, "the server is shutting down") == 0)
        say(s, FW_VIEW_LEVEL_VEIL, "The server is shutting down", "",
            "When it runs again, start a new session.");
    else
        say(s, FW_VIEW_LEVEL_VEIL, "This session is over", why, "It was closed.");
}

// What is wrong with the connection. False: nothing.
static bool link_trouble(const struct fw_view_link_state *st, enum fw_view_level level,
                         struct fw_view_status *s)
{
    char text[480];
    if (st->phase == FW_VIEW_CONNECTING && !st->attempt) {
        say(s, level, "Connecting", "", "Reaching the server.");
    } else if (st->phase == FW_VIEW_CONNECTING || st->phase == FW_VIEW_WAITING) {
        snprintf(text, sizeof(text), "The connection is cut%s%.380s%s. It is tried again by itself",
                 st->message[0] ? " (" : "", st->message, st->message[0] ? ")" : "");
        say(s, level, "Reconnecting", text, "");
    } else if (st->silent) {
        say(s, FW_VIEW_LEVEL_BANNER, "No word from the server", "",
            "The network may be slow. Waiting a little before connecting anew.");
    } else {
        return false;
    }
    return true;
}

void fw_view_status_of(const struct fw_view_link_state *st, uint64_t pictures,
                       struct fw_view_status *s)
{
    const enum fw_view_level level = pictures ? FW_VIEW_LEVEL_BANNER : FW_VIEW_LEVEL_VEIL;
    const struct fw_watch_info *info = &st->info;
    char text[80];
    *s = (struct fw_view_status){ .level = FW_VIEW_LEVEL_OK };
    if (st->phase == FW_VIEW_ENDED) {
        ended(st, s);
    } else if (link_trouble(st, level, s)) {
        return;
    } else if (strcmp(info->state, "failed") == 0 || strcmp(info->state, "closing") == 0) {
        ended(st, s);
    } else if (strcmp(info->state, "restarting") == 0) {
        say(s, level, "The renderer is restarting", info->message,
            "It stopped unexpectedly. The picture will be back in a moment.");
    } else if (strcmp(info->state, "running") == 0 && strcmp(info->code, "slow") == 0) {
        say(s, level, "Waiting for the renderer", info->message,
            "It has not answered for some seconds.");
    } else if (strcmp(info->state, "starting") == 0 || !pictures) {
        snprintf(text, sizeof(text), "Loading: %d %%", info->percent);
        say(s, level, "Starting", info->percent >= 0 ? text : info->message,
            "Waiting for the first picture.");
    }
}

void fw_view_status_draw(struct fw_view_canvas *canvas, const struct fw_view_status *status,
                         int width, int dot)
{
    const int edge = 10 * dot, most = 72 * FW_VIEW_CELL_WIDTH * dot;
    int inner = width - 6 * edge < most ? width - 6 * edge : most;
    if (inner < 20 * FW_VIEW_CELL_WIDTH * dot)
        inner = 20 * FW_VIEW_CELL_WIDTH * dot;
    struct fw_view_paragraph p = {
        .x = edge,
        .y = edge,
        .width = inner,
        .dot = dot,
        .color = FW_VIEW_RGBA(255, 180, 84, 255),
        .centred = true,
    };
    const int title = fw_view_text_wrap(NULL, &p, status->title);
    const int lines = title + fw_view_text_wrap(NULL, &p, status->text);
    if (!fw_view_canvas_begin(canvas, inner + 2 * edge,
                              2 * edge + (lines * FW_VIEW_LINE_HEIGHT - 4) * dot,
                              FW_VIEW_RGBA(18, 20, 24, 235)))
        return;
    fw_view_text_wrap(canvas, &p, status->title);
    p.y += title * FW_VIEW_LINE_HEIGHT * dot;
    p.color = FW_VIEW_RGBA(236, 238, 241, 255);
    fw_view_text_wrap(canvas, &p, status->text);
    fw_view_canvas_done(canvas);
}

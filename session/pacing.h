// SPDX-License-Identifier: MIT
// When does the next frame start? Pure logic: time and facts in, a decision out.
//
// A frame starts only when something changed, the minimum interval since the last one has passed
// and the path can take it. Input on an idle picture starts one at once. A press, which people wait
// for, starts one between two beats of a moving picture as well, one per interval at most; the beat
// goes on as it was. While the encoder is busy
// the start is put off so that the frame is finished just when the encoder is free: input is
// latched as late as possible. Once the picture stands still it is encoded again a few times, and
// then nothing happens at all.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fw_pacing_params {
    int fps;                 // 1-240, 0 = 60
    unsigned refine_frames;  // how often a still picture is encoded again, 0 = never; up to
                             // FW_PACE_REFINE_MAX while that fills the rate
    int64_t refine_after_ns; // stillness before that, 0 = 150 ms
};

enum { FW_PACE_REFINE_MAX = 24 };

// Thread: one. Fields are private.
struct fw_pacing {
    int64_t interval_ns;
    int64_t due_ns;     // the next frame may not start before
    int64_t between_ns; // when a frame was begun before it was due, last
    int64_t hold_ns;    // nothing at all may start before (the ring was full)
    int64_t render_ns;  // how long a frame takes to draw, smoothed; 0 = unknown
    int64_t changed_ns; // the picture changed last
    int64_t refine_after_ns;
    unsigned refine_frames, refined;
};

enum fw_pacing_action {
    FW_PACE_WAIT,
    FW_PACE_FRAME,  // draw and encode
    FW_PACE_KEY,    // the picture is unchanged: encode the last one again, as a key frame
    FW_PACE_REFINE, // encode the last one again, for quality
};

struct fw_pacing_facts {
    int64_t now_ns;
    bool wants; // the picture has changed, or was never sent
    bool animating;
    bool pressed;            // a button, key, finger or wheel is not drawn yet
    int64_t source_next_ns;  // when not `wants`: when to ask the source again, INT64_MAX = on input
    bool room;               // somebody looks, there is credit, no job waits for the encoder
    int64_t encoder_free_ns; // when the encoder is expected to be done, 0 = it is idle
    bool quiet;              // no job is under way
    bool key_wanted;         // asked for and not yet encoded
    bool have_last;          // there is a picture that can be encoded again
    bool starved;            // the last packet filled its share of the rate: more would help
};

void fw_pacing_init(struct fw_pacing *pacing, const struct fw_pacing_params *params);
// What to do now. `*wake_ns`: when to ask again if nothing else happens before, INT64_MAX = never.
enum fw_pacing_action fw_pacing_decide(const struct fw_pacing *pacing,
                                       const struct fw_pacing_facts *facts, int64_t *wake_ns);
// The action was begun at `now_ns`.
void fw_pacing_begun(struct fw_pacing *pacing, enum fw_pacing_action action, int64_t now_ns,
                     bool animating);
// Drawing took this long.
void fw_pacing_rendered(struct fw_pacing *pacing, int64_t duration_ns);
// Nothing may start before `until_ns`.
void fw_pacing_hold(struct fw_pacing *pacing, int64_t until_ns);

// SPDX-License-Identifier: MIT
// The record of a frame, kept for every frame of a session: when it passed each point of its way,
// what became of it and why. The newest FW_RECORDS_KEPT stand in a fixed ring; what has come to an
// end is summed into histograms. Pure: time is an argument, nothing is allocated after create.
//
// The way beyond the front is that of one viewer, the one that paced the session when the frame
// was published. What others say of the same frame is not looked at.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bins.h"
#include "base/histogram.h"
#include "base/packet.h"
#include "base/trace.h"
#include "stream/peer_clock.h"

enum {
    FW_RECORDS_KEPT = 4096,   // 68 s at 60 frames a second; 264 bytes each
    FW_RECORDS_OPEN = 128,    // an older one is closed, whatever is still to come
    FW_RECORDS_INPUTS = 1024, // newest inputs whose times of arrival are known
};

struct fw_frame_record {
    uint64_t frame_id;
    uint64_t input_id;          // newest input the picture shows, 0 = none
    int64_t at[FW_POINT_COUNT]; // ns of the server's clock; 0 = not stamped; never falling
    int64_t change_ns;          // oldest source change first shown here
    int64_t seen_ns;            // published, or found missing
    uint32_t bytes;             // of the access unit
    struct fw_gpu_facts gpu;
    uint32_t damage_px;
    uint32_t viewer;         // serial number; 0 = nobody paced
    uint32_t rtt_us;         // smallest of late, when published; 0 = unknown
    uint32_t link_kbps;      // what the kernel saw the link deliver, then; 0 = unknown
    uint32_t unsent_bytes;   // that the kernel still held, then
    uint32_t clock_error_us; // bound of the client's times; 0 = not known
    uint16_t width, height;
    uint8_t outcome, reason; // enum fw_outcome, enum fw_reason
    uint8_t clock;           // enum fw_peer_clock_kind: how the client's times were placed
    uint8_t window, queue;   // messages the viewer might have unconfirmed, and those it had
    uint8_t qp_plus1;        // as in fw_frame_facts
    uint8_t encoder;         // see fw_records_encoder
    bool key, animating;
    bool again;       // no new picture: the last one encoded once more
    bool shows_input; // the first to show its input: the total starts there, else at BEGUN
};

// What has come to an end since create.
struct fw_record_sums {
    struct fw_histogram stage[FW_STAGE_COUNT]; // known stages; `rest` of those presented
    struct fw_histogram total;                 // presented
    struct fw_histogram input_to_presented;    // one value for each input
    struct fw_histogram age;                   // one value for each ms watched, see stream/age.h
    uint64_t outcome[FW_OUTCOME_COUNT];
    uint64_t reason[FW_REASON_COUNT];
    uint64_t frames, keys, bytes;
};

// The same of many sessions, in bins, for monitoring. What a session adds stays when it ends.
struct fw_record_totals {
    struct fw_bins stage[FW_STAGE_COUNT], total, age;
    // From the client's making of an input, on its own clock, to the screen. One value for each.
    struct fw_bins input_to_photon;
    uint64_t reason[FW_REASON_COUNT]; // FW_REASON_NONE: presented
    uint64_t frames, keys, bytes;     // published
};

// Thread: one. Some 1.1 MiB.
struct fw_records;

// NULL when out of memory.
struct fw_records *fw_records_create(void);
void fw_records_destroy(struct fw_records **records);
// As they are now, for another thread to read; totals stay behind. NULL when out of memory.
struct fw_records *fw_records_copy(const struct fw_records *records);
// From now on everything is added there too. Not owned; NULL = nowhere.
void fw_records_set_totals(struct fw_records *records, struct fw_record_totals *totals);

// ---- feeding

// How the viewer that paces stands as a frame is published.
struct fw_record_viewer {
    uint32_t serial;                          // 0 = nobody paces
    uint32_t rtt_us, link_kbps, unsent_bytes; // as in the record
    unsigned window, queue;
};

// `count` inputs up to `newest_id` arrived.
void fw_records_input(struct fw_records *r, uint64_t newest_id, unsigned count, int64_t rx_ns);
// When the client says that input was made, on the server's clock. Without it, and where that can't
// be, it counts as made when it arrived.
void fw_records_input_made(struct fw_records *r, uint64_t id, int64_t made_ns);
// When an input was made, by the client's word, else received here; 0 = not known (any more).
int64_t fw_records_input_ns(const struct fw_records *r, uint64_t id);
// The first of the inputs that a picture of input `newest` shows, after one of input `shown`, whose
// time may be known.
uint64_t fw_records_inputs_after(uint64_t shown, uint64_t newest);
// A packet came from the worker. Ids that do not rise are not recorded.
void fw_records_publish(struct fw_records *r, const struct fw_packet *packet,
                        const struct fw_record_viewer *viewer, int64_t now_ns);
// HANDED and ACCEPTED. Here and below: frames that are not known, not (any more) under way or
// another viewer's change nothing.
void fw_records_sent(struct fw_records *r, uint32_t viewer, uint64_t frame_id, enum fw_point point,
                     int64_t ns);
void fw_records_drop(struct fw_records *r, uint32_t viewer, uint64_t frame_id,
                     enum fw_reason reason);
// All that are under way to this viewer are lost.
void fw_records_left(struct fw_records *r, uint32_t viewer);

struct fw_record_ack {
    uint64_t frame_id;
    enum fw_point point; // RECEIVED, DECODED or PRESENTED
    bool dropped;        // instead: the client dropped it
    int64_t ns;          // on the server's clock, 0 = unknown
    uint32_t error_us;   // its bound, 0 = not known
    enum fw_peer_clock_kind clock;
};
// A time that can't be (before it was handed out, later than now, both by more than the error) is
// left out; one that contradicts other stamps of the frame is moved to the nearest that does not.
void fw_records_ack(struct fw_records *r, uint32_t viewer, const struct fw_record_ack *ack,
                    int64_t now_ns);

// Tells the age of the picture up to a moment in the past when all that had changed by then is
// known here. `viewer` is the one that paces, 0 = nobody does. Call about once a second.
void fw_records_tick(struct fw_records *r, uint32_t viewer, int64_t now_ns);

// ---- reading

// How old the picture is on the screen of the viewer that paces, as far as is known here.
int64_t fw_records_age(const struct fw_records *r, int64_t now_ns);
unsigned fw_records_count(const struct fw_records *r); // FW_RECORDS_KEPT at most
// 0 is the oldest.
const struct fw_frame_record *fw_records_at(const struct fw_records *r, unsigned index);
// The encoder of a record, "" = not known.
const char *fw_records_encoder(const struct fw_records *r, const struct fw_frame_record *rec);
const struct fw_record_sums *fw_records_sums(const struct fw_records *r);

// What the total starts at, 0 = unknown.
int64_t fw_frame_record_start(const struct fw_frame_record *rec);
// From the start to PRESENTED; -1 = unknown, or it has not been presented.
int64_t fw_frame_record_total(const struct fw_frame_record *rec);
// ns, -1 = unknown or before the start. REST needs a total. All known ones and REST sum up to it.
int64_t fw_frame_record_stage(const struct fw_frame_record *rec, enum fw_stage stage);

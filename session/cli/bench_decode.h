// SPDX-License-Identifier: MIT
// Threads that decode for the load generator, so that reading from sockets never waits for it. A
// stream always goes to the same thread, in order.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "encode/decode.h"

struct fw_bench_job {
    struct fw_bench_job *next;  // inside
    void *owner;                // handed back
    struct fw_decoder *decoder; // of this stream, must live until the job is done
    uint64_t frame_id;
    bool drawn;        // a picture of its own, not the last one sent sharper
    bool held;         // "received" was not told yet
    int width, height; // true size
    bool animating;
    int64_t begun_ns; // on the server's clock
    int64_t received_ns;
    // --- filled in
    int64_t decoded_ns;
    enum fw_err err;
    uint64_t painted; // the number in a test card's picture
    // ---
    size_t size;
    uint8_t data[];
};

struct fw_bench_decoders;

// `wake_fd`: an eventfd that counts up when jobs are done. `threads` from 1.
enum fw_err fw_bench_decoders_create(struct fw_bench_decoders **decoders, unsigned threads,
                                     int wake_fd);
// Ends the threads; jobs not taken are freed. None of them may be under way for a living stream.
void fw_bench_decoders_destroy(struct fw_bench_decoders **decoders);
// A copy of `size` bytes; NULL when out of memory.
struct fw_bench_job *fw_bench_job_create(const uint8_t *data, size_t size);
// Takes the job over. `stream` is any number that stays with a stream.
void fw_bench_decoders_submit(struct fw_bench_decoders *decoders, unsigned stream,
                              struct fw_bench_job *job);
// What is done, oldest first, a list the caller frees; NULL = nothing.
struct fw_bench_job *fw_bench_decoders_take(struct fw_bench_decoders *decoders);

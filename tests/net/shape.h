// SPDX-License-Identifier: MIT
// One direction of a link that is made slower on purpose: when a packet that comes now is to go
// out again. Pure; what a link can do to packets is added here, the program around it only obeys.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shape_params {
    int64_t delay_ns;         // added to each packet's way, 0-10 s
    uint64_t bits_per_second; // 0 = no limit, up to 100 Gbit/s
    size_t queue_bytes;       // that may wait for the rate; what comes beyond is lost. 0 = 1 MiB
};

struct shape {
    struct shape_params params; // may change at any time
    int64_t busy_ns;            // the last bit of the newest packet is on the wire
    int64_t due_ns;             // the newest packet goes out
    uint64_t lost;
};

// False: it is lost. Packets never overtake one another, whatever changes meanwhile.
bool shape_admit(struct shape *shape, size_t bytes, int64_t now_ns, int64_t *due_ns);
// "delay=20ms rate=8mbit queue=64kB", each optional and else as it was; the unit belongs to it.
// False with a sentence: nothing has changed.
bool shape_parse(struct shape_params *params, const char *text, char *message, size_t message_size);

// SPDX-License-Identifier: MIT
// In the place of record.c in a build without the trace: nothing is kept.
#include <stdlib.h>

#include "stream/record.h"

struct fw_records {
    struct fw_record_sums sums; // of nothing
};

struct fw_records *fw_records_create(void)
{
    return calloc(1, sizeof(struct fw_records));
}

void fw_records_destroy(struct fw_records **records)
{
    free(*records);
    *records = NULL;
}

struct fw_records *fw_records_copy(const struct fw_records *records)
{
    (void)records;
    return fw_records_create();
}

void fw_records_set_totals(struct fw_records *r, struct fw_record_totals *totals)
{
    (void)r;
    (void)totals;
}

void fw_records_input(struct fw_records *r, uint64_t newest_id, unsigned count, int64_t rx_ns)
{
    (void)r;
    (void)newest_id;
    (void)count;
    (void)rx_ns;
}

void fw_records_input_made(struct fw_records *r, uint64_t id, int64_t made_ns)
{
    (void)r;
    (void)id;
    (void)made_ns;
}

int64_t fw_records_input_ns(const struct fw_records *r, uint64_t id)
{
    (void)r;
    (void)id;
    return 0;
}

uint64_t fw_records_inputs_after(uint64_t shown, uint64_t newest)
{
    (void)newest;
    return shown + 1;
}

void fw_records_publish(struct fw_records *r, const struct fw_packet *packet,
                        const struct fw_record_viewer *viewer, int64_t now_ns)
{
    (void)r;
    (void)packet;
    (void)viewer;
    (void)now_ns;
}

void fw_records_sent(struct fw_records *r, uint32_t viewer, uint64_t frame_id, enum fw_point point,
                     int64_t ns)
{
    (void)r;
    (void)viewer;
    (void)frame_id;
    (void)point;
    (void)ns;
}

void fw_records_drop(struct fw_records *r, uint32_t viewer, uint64_t frame_id,
                     enum fw_reason reason)
{
    (void)r;
    (void)viewer;
    (void)frame_id;
    (void)reason;
}

void fw_records_left(struct fw_records *r, uint32_t viewer)
{
    (void)r;
    (void)viewer;
}

void fw_records_ack(struct fw_records *r, uint32_t viewer, const struct fw_record_ack *ack,
                    int64_t now_ns)
{
    (void)r;
    (void)viewer;
    (void)ack;
    (void)now_ns;
}

void fw_records_tick(struct fw_records *r, uint32_t viewer, int64_t now_ns)
{
    (void)r;
    (void)viewer;
    (void)now_ns;
}

int64_t fw_records_age(const struct fw_records *r, int64_t now_ns)
{
    (void)r;
    (void)now_ns;
    return 0;
}

unsigned fw_records_count(const struct fw_records *r)
{
    (void)r;
    return 0;
}

const struct fw_frame_record *fw_records_at(const struct fw_records *r, unsigned index)
{
    (void)r;
    (void)index;
    return NULL;
}

const char *fw_records_encoder(const struct fw_records *r, const struct fw_frame_record *rec)
{
    (void)r;
    (void)rec;
    return "";
}

const struct fw_record_sums *fw_records_sums(const struct fw_records *r)
{
    return &r->sums;
}

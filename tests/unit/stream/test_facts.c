// SPDX-License-Identifier: MIT
// What a record keeps of a frame besides its times.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "stream/record.h"

enum { MS = FW_NS_PER_MS };

static const int64_t t0 = 1000 * (int64_t)FW_NS_PER_S;

static struct fw_packet packet(uint64_t id)
{
    const int64_t begun = t0 + (int64_t)id * MS;
    return (struct fw_packet){ .frame_id = id,
                               .times = { .begun_ns = begun, .picked_ns = begun + MS } };
}

static void publish(struct fw_records *r, const struct fw_packet *p)
{
    fw_records_publish(r, p, &(struct fw_record_viewer){ .serial = 1 }, p->times.picked_ns);
}

static const struct fw_frame_record *newest(const struct fw_records *r)
{
    return fw_records_at(r, fw_records_count(r) - 1);
}

// Facts are taken as they come; encoders by name, of which there may be more than there is room
// for.
static void facts_are_kept(void **state)
{
    (void)state;
    struct fw_records *r = fw_records_create();
    struct fw_packet p = packet(1);
    p.facts = (struct fw_frame_facts){ .gpu = { .begin_ns = t0 + 7,
                                                .pass_us = { 1, 2, 3 },
                                                .part_us = { 4, 5, 6, 7 },
                                                .vertices = 8,
                                                .primitives = 9,
                                                .fragments = 10 },
                                       .damage_px = 11,
                                       .qp_plus1 = 12 };
    strcpy(p.facts.encoder, "nvenc");
    publish(r, &p);
    const struct fw_frame_record *rec = newest(r);
    assert_memory_equal(&rec->gpu, &p.facts.gpu, sizeof(rec->gpu));
    assert_int_equal(rec->damage_px, 11);
    assert_int_equal(rec->qp_plus1, 12);
    assert_string_equal(fw_records_encoder(r, rec), "nvenc");
    for (uint64_t id = 2; id < 20; id++) {
        p = packet(id);
        snprintf(p.facts.encoder, sizeof(p.facts.encoder), "e%u", (unsigned)(id / 2));
        publish(r, &p);
        const char *said = fw_records_encoder(r, newest(r));
        assert_string_equal(said, id < 14 ? p.facts.encoder : "");
    }
    p = packet(20); // has none
    publish(r, &p);
    assert_string_equal(fw_records_encoder(r, newest(r)), "");
    assert_string_equal(fw_records_encoder(r, fw_records_at(r, 0)), "nvenc");
    struct fw_records *copy = fw_records_copy(r);
    p = packet(21);
    publish(r, &p);
    assert_int_equal(fw_records_count(copy), 20);
    assert_int_equal(fw_records_count(r), 21);
    assert_string_equal(fw_records_encoder(copy, fw_records_at(copy, 0)), "nvenc");
    fw_records_destroy(&copy);
    fw_records_destroy(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

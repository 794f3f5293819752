// SPDX-License-Identifier: MIT
#include "stream/client/inputs.h"

static struct fw_input_wait *at(struct fw_inputs *in, unsigned i)
{
    return &in->wait[(in->first + i) % FW_INPUTS_KEPT];
}

static void drop_first(struct fw_inputs *in)
{
    in->first = (in->first + 1) % FW_INPUTS_KEPT;
    in->count--;
}

void fw_inputs_sent(struct fw_inputs *in, uint64_t seq, int64_t since_ns)
{
    if (in->count == FW_INPUTS_KEPT) {
        drop_first(in);
        in->lost++;
    }
    *at(in, in->count++) = (struct fw_input_wait){ .seq = seq, .since_ns = since_ns };
}

// The first picture that showed `input_id`; 0 = none of those kept.
static int64_t shown_at(const struct fw_inputs *in, uint64_t input_id)
{
    int64_t first = 0;
    for (unsigned i = 0; i < FW_INPUTS_SHOWN; i++) {
        const struct fw_input_shown *s = &in->shown[i];
        if (s->input_id >= input_id && (!first || s->at_ns < first))
            first = s->at_ns;
    }
    return first;
}

static void settle(struct fw_inputs *in, fw_inputs_seen_fn seen, void *user)
{
    while (in->count && at(in, 0)->input_id) {
        const struct fw_input_wait wait = *at(in, 0);
        const int64_t seen_ns = shown_at(in, wait.input_id);
        if (!seen_ns)
            return;
        drop_first(in);
        seen(user, wait.seq, wait.since_ns, seen_ns);
    }
}

void fw_inputs_stamp(struct fw_inputs *in, const struct fw_wire_input_stamp *stamp,
                     fw_inputs_seen_fn seen, void *user)
{
    // Ids rise with seqs, so those before the one named follow from it.
    for (unsigned i = 0; i < in->count; i++) {
        struct fw_input_wait *w = at(in, i);
        if (w->input_id || w->seq > stamp->seq || stamp->seq - w->seq >= stamp->input_id)
            continue;
        w->input_id = stamp->input_id - (stamp->seq - w->seq);
    }
    settle(in, seen, user);
}

void fw_inputs_presented(struct fw_inputs *in, uint64_t input_id, int64_t at_ns,
                         fw_inputs_seen_fn seen, void *user)
{
    const unsigned last = (in->shown_next + FW_INPUTS_SHOWN - 1) % FW_INPUTS_SHOWN;
    if (!input_id || in->shown[last].input_id >= input_id)
        return; // shows nothing new
    in->shown[in->shown_next] = (struct fw_input_shown){ .input_id = input_id, .at_ns = at_ns };
    in->shown_next = (in->shown_next + 1) % FW_INPUTS_SHOWN;
    settle(in, seen, user);
}

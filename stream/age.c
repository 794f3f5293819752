// SPDX-License-Identifier: MIT
#include "stream/age.h"

#include "base/clock.h"

static const int64_t step_ns = FW_NS_PER_MS;

void fw_age_reset(struct fw_age *age)
{
    *age = (struct fw_age){ .told_ns = 0 };
}

static void add(const struct fw_age_out *out, int64_t age_ns, uint32_t times)
{
    if (out->histogram)
        fw_histogram_add_many(out->histogram, age_ns, times);
    if (out->bins)
        fw_bins_add(out->bins, age_ns, times);
}

void fw_age_until(struct fw_age *age, int64_t change_ns, int64_t until_ns,
                  const struct fw_age_out *out)
{
    const int64_t from = age->since_ns ? age->since_ns : change_ns;
    if (!age->told_ns)
        return;
    const int64_t current = !from || from > until_ns ? until_ns : from;
    if (current - age->told_ns >= step_ns) {
        const int64_t steps = (current - age->told_ns) / step_ns;
        add(out, 0, (uint32_t)steps);
        age->told_ns += steps * step_ns;
    }
    for (; until_ns - age->told_ns >= step_ns; age->told_ns += step_ns)
        add(out, age->told_ns + step_ns / 2 - from, 1);
}

void fw_age_shown(struct fw_age *age, int64_t since_ns, int64_t now_ns)
{
    // The rest of a millisecond that is begun is told with what comes next.
    if (!age->told_ns)
        age->told_ns = now_ns;
    age->since_ns = since_ns;
}

int64_t fw_age_at(const struct fw_age *age, int64_t change_ns, int64_t now_ns)
{
    const int64_t from = age->since_ns ? age->since_ns : change_ns;
    return age->told_ns && from && now_ns > from ? now_ns - from : 0;
}

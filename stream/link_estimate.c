// SPDX-License-Identifier: MIT
#include "stream/link_estimate.h"

#include <linux/tcp.h> // that of libc lacks the newer fields, and the two don't go together
#include <netinet/in.h>
#include <sys/socket.h>

void fw_link_estimate(int fd, uint32_t *kbps, uint32_t *unsent)
{
    enum { BYTES_PER_KBIT = 125 };
    struct tcp_info info = { 0 }; // an older kernel fills in less: what it lacks stays 0
    socklen_t size = sizeof(info);
    *kbps = *unsent = 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        return;
    const uint64_t rate = info.tcpi_delivery_rate / BYTES_PER_KBIT;
    *kbps = rate < UINT32_MAX ? (uint32_t)rate : UINT32_MAX;
    *unsent = info.tcpi_notsent_bytes;
}

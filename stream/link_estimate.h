// SPDX-License-Identifier: MIT
// What the kernel knows of the link behind a TCP connection.
#pragma once

#include <stdint.h>

// `*kbps`: what was delivered and confirmed at the newest measurement; while less is sent than the
// link would take, that and no more. `*unsent`: bytes that lie in the socket and were not sent yet.
// Both 0 where the kernel does not say.
void fw_link_estimate(int fd, uint32_t *kbps, uint32_t *unsent);

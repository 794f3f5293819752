// SPDX-License-Identifier: MIT
// Words of a server, for terminals and reports of ours.
#pragma once

#include <stddef.h>

// Copies `text`, cut between two characters where it is too long for `size` bytes. Control
// characters, which could steer a terminal, become "?". Pure.
void fw_text_copy(char *out, size_t size, const char *text);

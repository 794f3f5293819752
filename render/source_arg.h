// SPDX-License-Identifier: MIT
// What a source is opened with, for those who must not see Vulkan.
#pragma once

struct fw_source_arg {
    const char *key, *value; // UTF-8
};

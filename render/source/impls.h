// SPDX-License-Identifier: MIT
// The sources there are; for sources.c.
#pragma once

#include "render/source.h"

extern const struct fw_source_impl fw_source_testcard;
extern const struct fw_source_impl fw_source_null;
extern const struct fw_source_impl fw_source_scene;

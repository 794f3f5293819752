#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# meson test --wrapper: runs one sanitized test with FW_NO_DLCLOSE preloaded, after the sanitizer.
exec env LD_PRELOAD="$(gcc -print-file-name=libasan.so):$FW_NO_DLCLOSE" "$@"

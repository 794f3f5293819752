#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The serve tests with the binary that has the sanitizers in it (FW_BINARY): slower, same checks, and
# no report from the front or any worker.
export FW_SLOW=${FW_SLOW:-5}
exec bash "$(dirname -- "${BASH_SOURCE[0]}")/serve_test.sh"

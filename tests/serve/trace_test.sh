#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The trace of a real session, see trace.mjs.
set -uo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit 1
exec node tests/serve/trace.mjs

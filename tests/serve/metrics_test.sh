#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# /metrics of a real server, and all that reads it, see metrics.mjs.
set -uo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit 1
exec node tests/serve/metrics.mjs

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `framewire bench` against a real server, see load.mjs.
set -uo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit 1
exec node tests/serve/load.mjs

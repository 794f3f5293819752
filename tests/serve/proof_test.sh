#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Delays put into stages are found there, see proof.mjs.
set -uo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit 1
exec node tests/serve/proof.mjs

#!/bin/sh
# SPDX-License-Identifier: MIT
# Turns a text file into a C header with one string: embed.sh NAME INPUT OUTPUT
set -eu
{
    printf '// Made by embed.sh from %s.\nstatic const char %s[] =\n' "$(basename "$2")" "$1"
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/' "$2"
    printf ';\n'
} >"$3"

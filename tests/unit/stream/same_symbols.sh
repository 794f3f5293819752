#!/bin/sh
# SPDX-License-Identifier: MIT
# same_symbols.sh NM A B: do both modules define the same functions? What a build leaves out must
# still be there by name.
set -eu
unset LD_PRELOAD # a sanitizer counts what nm leaks
names() { "$1" -g --defined-only "$2" | awk '$3 ~ /^fw_/ { print $3 }' | sort; }
a=$(names "$1" "$2") b=$(names "$1" "$3")
[ -n "$a" ] && [ "$a" = "$b" ] && exit 0
printf 'not the same:\n%s\n---\n%s\n' "$a" "$b"
exit 1

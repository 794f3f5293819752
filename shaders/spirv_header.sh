#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: spirv_header.sh GLSLANG INPUT OUTPUT DEPFILE SYMBOL INCLUDE_DIR
# SPIR-V as of Vulkan 1.2: that of 1.3 needs the maintenance4 feature for compute shaders.
# glslang's own arrays have external linkage; two users of one shader would then clash.
set -eu
"$1" --quiet --target-env vulkan1.2 -V -I"$6" --depfile "$4" --vn "$5" -o "$3.tmp" "$2"
sed "s/^[[:space:]]*const uint32_t/static const uint32_t/" "$3.tmp" >"$3"
# The rule ninja must see is for the header, not for the file in between.
sed -i "s|^[^:]*:|$3:|" "$4"
rm -f "$3.tmp"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The fault layer by itself, alone and stacked with other layers in both orders, then the server
# under it. Run from the project's root; FW_LAYER_DIR says where the layer was built.
set -uo pipefail

dir=${FW_LAYER_DIR:-build/tests/layer}
[[ $dir == /* ]] || dir=$PWD/$dir
export FW_LAYER_DIR=$dir
passed=0 failed=0
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT

export VK_LAYER_PATH=$dir:/usr/share/vulkan/explicit_layer.d

# probe NAME LAYERS: all devices lost, then one lost and one spared.
probe() {
    local name=$1 mode output args
    for mode in always once; do
        args=(3)
        [[ $mode == once ]] && args=(3 once)
        rm -f "$state/once"
        if output=$(FW_FAULT_SUBMIT_AFTER=3 FW_FAULT_MODE=$mode FW_FAULT_STATE=$state/once \
            VK_INSTANCE_LAYERS=$2 timeout 30 "$dir/fault_probe" "${args[@]}" 2>&1); then
            printf 'ok - %s, %s\n' "$name" "$mode"
            passed=$((passed + 1))
        else
            printf 'NOT OK - %s, %s\n%s\n' "$name" "$mode" "$output"
            failed=$((failed + 1))
        fi
    done
}

ours=VK_LAYER_framewire_fault
khronos=VK_LAYER_KHRONOS_validation
mesa=VK_LAYER_MESA_overlay
probe "alone" $ours
probe "below validation" $khronos:$ours
probe "above validation" $ours:$khronos
if [[ -f /usr/share/vulkan/explicit_layer.d/VkLayer_MESA_overlay.json ]]; then
    probe "below the Mesa overlay" $mesa:$ours
    probe "above overlay and validation" $ours:$mesa:$khronos
fi
# Without the layer the probe must fail: else it proves nothing.
if VK_INSTANCE_LAYERS='' timeout 30 "$dir/fault_probe" 3 >/dev/null 2>&1; then
    echo "NOT OK - the probe notices that the layer is missing"
    failed=$((failed + 1))
else
    echo "ok - the probe notices that the layer is missing"
    passed=$((passed + 1))
fi
unset VK_LAYER_PATH

serve=$(node tests/layer/fault_serve.mjs 2>&1)
printf '%s\n' "$serve"
if [[ $serve =~ layer-serve:\ ([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
else
    failed=$((failed + 1))
fi
printf 'layer: %d passed, %d failed, 0 skipped\n' "$passed" "$failed"
((failed == 0))

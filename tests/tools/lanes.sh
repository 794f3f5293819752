# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# How ./test runs several suites: two lanes side by side. Many tests wait more than they work, and one
# lane alone leaves the cores idle. Within a lane one suite runs at a time. Those of the first lane that
# leave cores free come first, while the builds with sanitizers take what is left of the cores, and the
# browsers last, when the second lane is about done. Only those builds step back by priority: a session
# that starves loses pictures, and most suites have sessions.

lane_timed=(serve net layer view lint unit golden loopback browser photon)
lane_sanitized=(tsan fuzz asan)

lanes=()

# One suite in this shell, with nothing beside it.
run_here() {
    local before=$SECONDS p=$passed f=$failed s=$skipped
    say "── $1"
    "suite_$1"
    ((failed > f)) && broken+=("$1")
    say "── $1: $((passed - p)) passed, $((failed - f)) failed, $((skipped - s)) skipped" \
        "($((SECONDS - before)) s)"
}

# cpu_seconds FILE: of what `times` wrote there, that of the children.
cpu_seconds() {
    awk 'NR == 2 { split($1 $2, t, /[ms]/); printf "%d", t[1] * 60 + t[2] + t[3] * 60 + t[4] }' "$1"
}

# One suite of a lane: each line is marked where others print too.
run_in_lane() {
    local before=$SECONDS mark=
    ((${#suites[@]} > 1)) && printf -v mark '%-9s ' "$1"
    say "── $1"
    (
        passed=0 failed=0 skipped=0
        "suite_$1"
        times >"build/.times-$1"
        echo "$passed $failed $skipped $(cpu_seconds "build/.times-$1")" >"build/.result-$1"
    ) 2>&1 | sed -u "s/^\(  \)\?/  $mark/"
    local counts=(0 1 0 ?)
    [[ -f build/.result-$1 ]] && read -ra counts <"build/.result-$1"
    say "── $1: ${counts[0]} passed, ${counts[1]} failed, ${counts[2]} skipped" \
        "($((SECONDS - before)) s, ${counts[3]} s of a core; $((SECONDS - started)) s since the start)"
}

# start_lane SUITE…: in the background, in a process group of its own.
start_lane() {
    local suite
    for suite in "$@"; do rm -f "build/.result-$suite"; done
    set -m
    (
        trap - EXIT INT TERM
        for suite in "$@"; do run_in_lane "$suite"; done
    ) &
    lanes+=($!)
    set +m
}

# chosen SUITE…: those of them that are to run.
chosen() {
    local suite
    for suite in "$@"; do
        wants "$suite" && printf '%s\n' "$suite"
    done
}

run_suites() {
    local timed sanitized suite counts
    mapfile -t timed < <(chosen "${lane_timed[@]}")
    mapfile -t sanitized < <(chosen "${lane_sanitized[@]}")
    if ((${#timed[@]} + ${#sanitized[@]})); then
        ((${#sanitized[@]})) && start_lane "${sanitized[@]}"
        ((${#timed[@]})) && start_lane "${timed[@]}"
        for suite in "${lanes[@]}"; do wait "$suite"; done
        lanes=()
        for suite in "${timed[@]}" "${sanitized[@]}"; do
            counts=()
            [[ -f build/.result-$suite ]] && read -ra counts <"build/.result-$suite"
            if ((${#counts[@]} == 4)); then
                add "${counts[@]}"
            else
                fail "$suite" "it broke off"
                counts=(0 1 0)
            fi
            ((counts[1])) && broken+=("$suite")
        done
    fi
    for suite in $(chosen "${named_suites[@]}"); do
        run_here "$suite"
    done
}

# Ends what runs in the background, with all that it has started.
stop_all() {
    local group tries
    for group in $builder "${lanes[@]}"; do
        kill -TERM -- "-$group" 2>/dev/null
    done
    for group in $builder "${lanes[@]}"; do
        for ((tries = 0; tries < 100; tries++)); do # servers and browsers tidy up
            kill -0 -- "-$group" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL -- "-$group" 2>/dev/null
        wait "$group" 2>/dev/null
    done
    return 0
}

# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# What ./test runs: one function per suite. Each adds to passed, failed and skipped.

out=tests/out

add() {
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

# fail NAME WHY…: one failed test.
fail() {
    printf '  FAILED %s: %s\n' "$1" "${*:2}"
    add 0 1 0
}

# ---- what comes first ----------------------------------------------------------------------------

prepare() {
    mkdir -p build "$out"
    install_packages build/apt.log \
        "${FW_PACKAGES_BUILD[@]}" "${FW_PACKAGES_RUN[@]}" "${FW_PACKAGES_TEST[@]}"
    if wants rivals && ! (install_packages build/apt-rivals.log "${FW_PACKAGES_RIVALS[@]}") >/dev/null; then
        say "not all rivals can be installed (log: build/apt-rivals.log); those that lack are skipped"
    fi
    if [[ -d ../shared/models ]]; then
        FW_MODELS=$(cd ../shared/models && pwd)
    else
        FW_MODELS=/usr/share/assimp/models
    fi
    export FW_MODELS FW_VALIDATION=1 FW_BINARY=$PWD/build/framewire
    # Leftover settings of the caller must not change what is tested.
    unset VK_INSTANCE_LAYERS VK_LAYER_PATH VK_ICD_FILENAMES VK_DRIVER_FILES
    say "models from $FW_MODELS"
    local suite # those with a part in node
    for suite in lint asan layer net serve view browser photon bench load many soak rivals; do
        wants "$suite" && install_npm && break
    done
    exec 9>build/.lock
    flock 9 # a ./run at the same time builds into the same folder
    say "building (log: build/build.log)"
    # Warnings stop CI, not a person whose compiler is newer than ours.
    build_tree build build/build.log -- -Dtests=true ${CI:+-Dwerror=true} ||
        die "the build failed, see build/build.log"
    exec 9>&-
    start_builds
}

install_npm() {
    local stamp=tests/node_modules/.framewire lock=tests/package-lock.json
    [[ -f $stamp && $(sha256sum <"$lock") == "$(cat "$stamp")" ]] && return 0
    say "npm ci in tests/"
    (cd tests && npm ci --no-audit --no-fund) >build/npm.log 2>&1 || {
        tail -n 20 build/npm.log >&2
        die "npm ci failed (all of it: build/npm.log)"
    }
    sha256sum <"$lock" >"$stamp"
}

# The sanitizer builds take a minute or two: they are made beside the first suites, from what those
# leave of the cores.
builder=
start_builds() {
    local want=()
    wants tsan && want+=(tsan)
    wants fuzz && want+=(fuzz)
    wants asan && want+=(asan)
    ((${#want[@]})) || return 0
    rm -f build/.built-*
    set -m # a process group of its own, so that stop_all reaches the compilers too
    (
        trap - EXIT INT TERM
        renice -n 10 "$BASHPID" >/dev/null
        for kind in "${want[@]}"; do
            if build_kind "$kind" 2>"build/$kind-error.log"; then
                echo ok >"build/.built-$kind"
            else
                echo failed >"build/.built-$kind"
            fi
        done
    ) &
    builder=$!
    set +m
}

build_kind() {
    local log=build/build-$1.log targets=() file
    case $1 in
    asan)
        # What its suites run; golden pictures and bench are for the real build.
        mapfile -t targets < <(ninja -C build -t targets all |
            sed -nE 's,^((framewire|tests/(unit|loopback|layer|net)/[^:]+)): c_LINKER$,\1,p')
        build_tree build-asan "$log" "${targets[@]}" -- -Dtests=true -Dbuildtype=debugoptimized \
            -Db_sanitize=address,undefined
        ;;
    tsan)
        targets=(tests/loopback/test_loopback_null tests/loopback/test_loopback_x264)
        build_tree build-tsan "$log" "${targets[@]}" -- -Dtests=true -Dbuildtype=debugoptimized \
            -Db_sanitize=thread
        ;;
    fuzz)
        for file in tests/fuzz/fuzz_*.c; do
            targets+=("tests/fuzz/$(basename "$file" .c)")
        done
        CC=clang-14 build_tree build-fuzz "$log" "${targets[@]}" -- -Dtests=true -Dfuzz=true \
            -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false
        ;;
    esac
}

# built KIND: waits for that build; false (and a failed test) when it did not come out.
built() {
    while [[ ! -f build/.built-$1 ]]; do
        kill -0 "$builder" 2>/dev/null || [[ -f build/.built-$1 ]] || break
        sleep 0.2
    done
    [[ $(cat "build/.built-$1" 2>/dev/null) == ok ]] && return 0
    cat "build/$1-error.log" 2>/dev/null
    fail "$1" "the build failed, see build/build-$1.log"
    return 1
}

# ---- helpers -------------------------------------------------------------------------------------

# run_meson DIR SUITE: the tests that meson.build files registered for SUITE.
run_meson() {
    local dir=$1 suite=$2 base log line
    base=log-$suite
    # meson adds the wrapper's name to that of the log
    log=$dir/meson-logs/$base${FW_TEST_WRAPPER:+-$(basename "$FW_TEST_WRAPPER")}.json
    rm -f "$log"
    # `framewire:` keeps suites of the same name elsewhere out; the time-outs are the tests' own.
    CMOCKA_MESSAGE_OUTPUT=TAP meson test -C "$dir" --no-rebuild --logbase "$base" \
        --suite "framewire:$suite" --num-processes "${FW_TEST_JOBS:-2}" \
        --timeout-multiplier "${FW_TEST_SLOW:-1}" ${FW_TEST_WRAPPER:+--wrapper "$FW_TEST_WRAPPER"} \
        >"$dir/meson-logs/$suite.out" 2>&1
    if [[ ! -s $log ]]; then
        tail -n 15 "$dir/meson-logs/$suite.out"
        fail "$suite" "meson test ran nothing in $dir"
        return
    fi
    while IFS= read -r line; do
        if [[ $line =~ ^([0-9]+)\ ([0-9]+)\ ([0-9]+)$ ]]; then
            add "${BASH_REMATCH[@]:1}"
        else
            printf '%s\n' "$line"
        fi
    done < <(python3 tests/tools/count.py "$log" || echo "0 1 0")
}

# run_script NAME SECONDS COMMAND…: a script that ends with `name: N passed, N failed, N skipped`
# (or that alone). A crash, a hang or a missing line is a failure.
run_script() {
    local name=$1 limit=$2 log=$out/$1.log rc=0 last
    shift 2
    mkdir -p "$out"
    # In the foreground group, so that Ctrl-C reaches it; TERM first, so that its traps clean up.
    timeout --foreground --kill-after=15 "$limit" "$@" 2>&1 | tee "$log" | sed -u 's/^/  /'
    rc=${PIPESTATUS[0]}
    last=$(grep -E '^([a-z0-9_-]+: )?[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
    if [[ ! $last =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped ]]; then
        ((rc == 124)) && fail "$name" "no end within $limit s" || fail "$name" "exit $rc, no result line"
        return
    fi
    add "${BASH_REMATCH[@]:1}"
    ((rc != 0 && BASH_REMATCH[2] == 0)) && fail "$name" "exit $rc though no test failed"
    return 0
}

# part NAME COMMAND…: a part of a suite that runs beside its other parts; join_parts waits for all of
# them and adds up. The suite has a local `parts`.
part() {
    local name=$1
    shift
    rm -f "build/.part-$name"
    (
        passed=0 failed=0 skipped=0
        "$@"
        echo "$passed $failed $skipped" >"build/.part-$name"
    ) &
    parts+=("$!:$name")
}

join_parts() {
    local entry counts
    for entry in "${parts[@]}"; do
        wait "${entry%%:*}"
        counts=()
        [[ -f build/.part-${entry#*:} ]] && read -ra counts <"build/.part-${entry#*:}"
        if ((${#counts[@]} == 3)); then add "${counts[@]}"; else fail "${entry#*:}" "it broke off"; fi
    done
    parts=()
}

# ---- suites --------------------------------------------------------------------------------------

suite_lint() { run_script lint 300 node tests/lint/lint.mjs build; }
suite_unit() { FW_TEST_JOBS=3 run_meson build unit; } # some of them wait
suite_golden() { FW_TEST_JOBS=1 run_meson build golden; }
suite_loopback() { FW_TEST_JOBS=1 run_meson build loopback; }
suite_layer() { run_script layer 180 bash tests/layer/layer_test.sh; }
suite_net() { run_script net 180 bash tests/net/net_test.sh; }
suite_view() {
    if [[ -x build/framewire-view ]]; then
        run_script view 300 node tests/view/view_test.mjs
    else
        fail view "the build has no viewer: is libglfw3-dev there?"
    fi
}
suite_browser() { run_script browser 600 node tests/browser/run.mjs; }
suite_bench() {
    run_script bench 1200 node tests/bench/bench.mjs
    run_script bench-start 300 node tests/bench/start.mjs
    run_script bench-hud 300 node tests/bench/hud.mjs
    if build_tree build-notrace build/build-notrace.log framewire -- -Dtrace=false -Dtests=false \
        -Dview=disabled; then
        run_script bench-trace-cost 600 node tests/bench/trace_cost.mjs
    else
        fail bench-trace-cost "the build without the trace failed"
    fi
}
suite_photon() { run_script photon 240 node tests/bench/photon/check.mjs; }
suite_rivals() { run_script rivals 3600 node tests/bench/photon/rivals.mjs; }
suite_many() { run_script many 7200 node tests/bench/many.mjs; }
suite_soak() { run_script soak 7200 node tests/bench/soak.mjs; }
# In each run the same with fewer pictures, as a part of serve.
suite_load() { FW_LOAD_FRAMES=10000 run_script load 900 bash tests/serve/load_test.sh; }

suite_serve() {
    local script found=
    for script in tests/serve/*.sh; do
        # asan.sh belongs to suite_asan; lib*.sh are sourced by others.
        [[ -f $script && $script != */lib*.sh && $script != */asan.sh ]] || continue
        found=1
        run_script "serve-$(basename "$script" .sh)" 300 bash "$script"
    done
    [[ -n $found ]] || fail serve "no script in tests/serve"
}

# Leaks inside the driver and its LLVM are not ours to count: the list says which.
sanitizer_env() {
    export ASAN_OPTIONS=abort_on_error=0:detect_stack_use_after_return=1:strict_string_checks=1
    export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
    export LSAN_OPTIONS=suppressions=$PWD/tests/tools/lsan.supp:print_suppressions=0
    export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
}

suite_asan() {
    built asan || return 0
    sanitizer_env
    export FW_NO_DLCLOSE=$PWD/build-asan/no_dlclose.so
    gcc -shared -fPIC -o "$FW_NO_DLCLOSE" tests/sanitize/no_dlclose.c ||
        fail asan "no_dlclose.c does not build"
    local FW_TEST_WRAPPER=$PWD/tests/sanitize/wrap.sh FW_TEST_SLOW=4
    local parts=() # those with a server mostly wait for it
    [[ -f tests/serve/asan.sh ]] && FW_BINARY=$PWD/build-asan/framewire \
        part asan-serve run_script asan-serve 600 bash tests/serve/asan.sh
    FW_BINARY=$PWD/build-asan/framewire FW_VALIDATION=0 \
        part asan-session run_script asan-session 300 node tests/sanitize/session.mjs
    run_meson build-asan unit
    join_parts
    FW_TEST_JOBS=1 run_meson build-asan loopback # counts pictures: starved, it would miss some
    unset ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS
}

suite_tsan() {
    built tsan || return 0
    sanitizer_env
    FW_TEST_JOBS=1 FW_TEST_SLOW=4 run_meson build-tsan tsan # counts pictures, as above
    unset ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS
}

# fuzz_one PROGRAM: over its committed seeds first, then it makes up its own for a while.
fuzz_one() {
    local program=$1 name seeds log
    name=$(basename "$program")
    seeds=tests/fuzz/seeds/${name#fuzz_}
    log=$PWD/$out/$name.log
    rm -rf "${out:?}/$name" && mkdir -p "$out/$name"
    if [[ ! -d $seeds || -z $(ls -A "$seeds") ]]; then
        fail "$name" "no seeds in $seeds"
    elif "$program" -max_total_time="${FW_FUZZ_SECONDS:-30}" -timeout=5 -rss_limit_mb=1024 \
        -artifact_prefix="$out/$name-" -print_final_stats=1 "$out/$name" "$seeds" \
        >"$log" 2>&1; then
        printf '  %s: %s runs\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
        add 1 0 0
    else
        tail -n 30 "$log"
        fail "$name" "see $log"
    fi
}

suite_fuzz() {
    built fuzz || return 0
    local program parts=()
    for program in build-fuzz/tests/fuzz/fuzz_*; do
        [[ -f $program && -x $program ]] || continue
        part "fuzz-$(basename "$program")" fuzz_one "$program"
    done
    ((${#parts[@]})) || fail fuzz "no fuzz target was built"
    join_parts
}

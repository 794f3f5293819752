# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced by ./run and ./test: installs the Debian packages that are missing, and says why when it
# can't. Needs `say` and `die` from the caller.

# Prints those of its arguments (package or package:command) that are not installed.
missing_packages() {
    local -A have=()
    local name status entry package command
    while read -r name status; do
        [[ $status == installed ]] && have[${name%%:*}]=1
    done < <(dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' 2>/dev/null || true)
    for entry in "$@"; do
        package=${entry%%:*}
        command=
        [[ $entry == *:* ]] && command=${entry#*:}
        [[ -n ${have[$package]:-} ]] && continue
        [[ -n $command ]] && command -v "$command" >/dev/null 2>&1 && continue
        printf '%s\n' "$package"
    done
}

# The tests want the programs of nginx, HAProxy, xpra and Prometheus, not their services: held back
# while they are installed, switched off for the next boot. `$@` is how to become root, or nothing.
hold_services() {
    [[ -e /usr/sbin/policy-rc.d ]] && return 0
    printf '#!/bin/sh\nexit 101\n' | "$@" tee /usr/sbin/policy-rc.d >/dev/null &&
        "$@" chmod 755 /usr/sbin/policy-rc.d && services_held=1
}
release_services() {
    [[ -n ${services_held:-} ]] || return 0
    "$@" rm -f /usr/sbin/policy-rc.d
    services_held=
    if [[ -d /run/systemd/system ]]; then
        "$@" systemctl disable --quiet "${services[@]}" >/dev/null 2>&1 || true
    fi
}

# install_packages LOG ENTRY… : does nothing, fast, when all are there.
install_packages() {
    local log=$1
    shift
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        die "this is no Debian (no apt-get here). framewire is built and tested on Debian 12;" \
            "elsewhere install the counterparts of deploy/packages.sh, then build with meson"
    fi
    local missing=()
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]} == 0)) && return 0

    local root=()
    if [[ $EUID -ne 0 ]]; then
        command -v sudo >/dev/null ||
            die "packages are missing (${missing[*]}), and this is neither root nor is there sudo." \
                "As root: apt-get install --no-install-recommends ${missing[*]}"
        root=(sudo)
    fi
    say "installing (a minute or two; log: $log): ${missing[*]}"
    local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2)
    if ! "${apt[@]}" update >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        die "apt-get update failed: is there a network, and is sudo allowed? (all of it: $log)"
    fi
    local services=() name installed=1
    for name in "${missing[@]}"; do
        [[ $name == nginx-light || $name == haproxy || $name == prometheus ]] && services+=("${name%-light}")
        [[ $name == xpra ]] && services+=(xpra.service xpra.socket)
    done
    (
        trap 'release_services "${root[@]}"' EXIT
        trap 'exit 130' INT TERM
        ((${#services[@]} == 0)) || hold_services "${root[@]}"
        "${apt[@]}" install --no-install-recommends "${missing[@]}" >>"$log" 2>&1
    ) || installed=
    if [[ -z $installed ]]; then
        tail -n 25 "$log" >&2
        die "apt-get install failed (all of it: $log)"
    fi
}

# build_tree DIR LOG TARGET… -- MESON OPTION… : sets a build directory up when it is absent (or was
# made for another place), then runs ninja. Shows the end of the log when something fails.
build_tree() {
    local dir=$1 log=$2
    shift 2
    local targets=()
    while (($#)) && [[ $1 != -- ]]; do
        targets+=("$1")
        shift
    done
    shift || true
    mkdir -p "$dir"
    local made="$PWD"$'\n'"$*"
    if [[ ! -f $dir/build.ninja || $(cat "$dir/.source" 2>/dev/null) != "$made" ]]; then
        local fresh=() # a set-up that failed has left no coredata, and nothing that --wipe could use
        [[ -f $dir/meson-private/coredata.dat ]] && fresh=(--wipe)
        if ! meson setup "${fresh[@]}" "$dir" "$@" >"$log" 2>&1; then
            tail -n 25 "$log" >&2
            return 1
        fi
        printf '%s\n' "$made" >"$dir/.source"
    fi
    if ! ninja -C "$dir" "${targets[@]}" >>"$log" 2>&1; then
        if tail -n 1 "$log" | grep -q interrupted; then
            say "interrupted" >&2
            exit 130
        fi
        grep -E -A6 'error|FAILED' "$log" | tail -n 30 >&2 || tail -n 30 "$log" >&2
        return 1
    fi
}

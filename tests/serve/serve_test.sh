#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The real binary from outside: start-up, refusals, the API with good and bad credentials, lost and
# hung workers, and that nothing is left behind. FW_BINARY names the binary (build/framewire).
set -uo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
binary=${FW_BINARY:-$root/build/framewire}
slow=${FW_SLOW:-1} # a factor on time limits, for builds with sanitizers
passed=0 failed=0 skipped=0
server='' base=''
dir=$(mktemp -d)
curl=(curl -sS -g --path-as-is --max-time 10)

ok() {
    passed=$((passed + 1))
    printf 'ok    %s\n' "$1"
}
bad() {
    failed=$((failed + 1))
    printf 'FAIL  %s: %s\n' "$1" "$2"
}
# is NAME GOT WANTED
is() { if [[ $2 == "$3" ]]; then ok "$1"; else bad "$1" "got '$2', wanted '$3'"; fi; }
# has NAME TEXT PART
has() { if [[ $2 == *"$3"* ]]; then ok "$1"; else bad "$1" "'$3' is not in '${2:0:400}'"; fi; }
# lacks NAME TEXT PART
lacks() { if [[ $2 != *"$3"* ]]; then ok "$1"; else bad "$1" "'$3' is in it"; fi; }

finish() {
    if [[ -n $server ]]; then
        kill -9 "$server" 2>/dev/null
        wait "$server" 2>/dev/null
    fi
    rm -rf -- "$dir"
    printf 'serve: %d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    ((failed == 0))
}
trap 'finish; exit $?' EXIT
trap 'exit 130' INT TERM

now_ms() { date +%s%3N; }
# until_true MS COMMAND…: waits until the command succeeds; prints how long it took.
until_true() {
    local limit=$(($1 * slow)) begun
    begun=$(now_ms)
    shift
    until "$@" >/dev/null 2>&1; do
        (($(now_ms) - begun > limit)) && return 1
        sleep 0.02
    done
    printf '%d' $(($(now_ms) - begun))
}
gone() {
    local pid
    for pid in "$@"; do
        [[ -d /proc/$pid ]] && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null && return 1
    done
    return 0
}
children() { ps -o pid= --ppid "$1" | tr -d ' ' | tr '\n' ' '; }

# start NAME OPTION…: a server on a free port; sets server and base.
start() {
    local name=$1
    shift
    "$binary" serve --listen 127.0.0.1:0 --static "$root/stream/web" --state "$dir/state" "$@" \
        >"$dir/out" 2>"$dir/err" &
    server=$!
    if ! until_true 3000 grep -q '^framewire' "$dir/out" >"$dir/took"; then
        bad "$name" "no start-up lines; $(tail -n 3 "$dir/err")"
        return 1
    fi
    base=$(grep -oE 'https?://(\[[0-9a-f:]+\]|[0-9.]+):[0-9]+' "$dir/out" | head -n 1)
    ok "$name ($(cat "$dir/took") ms)"
    until_true 5000 status_is 200 /readyz >/dev/null
    return 0
}
# Builds with sanitizers: what they found in the front and its workers. Leaks of the front show in
# its exit status; those of a worker are the driver's, unloaded by the time they are looked for.
no_reports() {
    local found
    found=$(grep -E -A12 'ERROR: (Address|Undefined.*|Thread)Sanitizer|runtime error:|WARNING: ThreadSanitizer' "$dir/err" | head -n 40)
    is "$1: no sanitizer report" "$found" ''
}
# stop NAME: in order, with nothing left.
stop() {
    local kids rc
    kids=$(children "$server")
    kill -TERM "$server"
    wait "$server"
    rc=$?
    is "$1: exit status" "$rc" 0
    # shellcheck disable=SC2086
    if gone $kids; then ok "$1: no process left"; else bad "$1: no process left" "$kids"; fi
    no_reports "$1"
    server=''
}

# request METHOD PATH [curl option…]: the body; status METHOD PATH […]: the status
request() { "${curl[@]}" -X "$1" "${@:3}" "$base$2"; }
status() { "${curl[@]}" -o /dev/null -w '%{http_code}' -X "$1" "${@:3}" "$base$2"; }
post() { request POST "$1" -H 'Content-Type: application/json' -d "$2" "${@:3}"; }
post_status() { status POST "$1" -H 'Content-Type: application/json' -d "$2" "${@:3}"; }
field() { sed -nE "s/.*\"$1\":\"?([^\",}]*).*/\1/p"; }
session_field() { request GET "/api/v1/sessions/$1" | field "$2"; }
state_is() { [[ $(session_field "$1" state) == "$2" ]]; }
status_is() { [[ $(status GET "$2") == "$1" ]]; }
other_worker() { [[ $(session_field "$1" workerPid) != "$2" ]]; }
settled() { new_worker "$1" 0 || state_is "$1" failed; }
new_worker() {
    local pid
    pid=$(session_field "$1" workerPid)
    [[ -n $pid && $pid != null && $pid != "$2" ]] && state_is "$1" running
}

# ---- refusals: the reason and the status

refuses() {
    local name=$1 want=$2 text=$3 rc out
    shift 3
    out=$(timeout 20 "$binary" "$@" 2>&1 </dev/null)
    rc=$?
    is "refused: $name: status" "$rc" "$want"
    has "refused: $name: reason" "$out" "$text"
}
test_refusals() {
    local common=(serve --listen 127.0.0.1:0 --static "$root/stream/web" --state "$dir/state")
    refuses 'unknown option' 2 "'--nope'" serve --nope
    refuses 'unknown command' 2 "'nope'" nope
    refuses 'bad address' 2 '--listen' serve --listen 8080
    refuses 'beyond this machine' 2 '--token-file' serve --listen 0.0.0.0:0
    refuses 'beyond this machine, IPv6' 2 '--tls-self-signed' serve --listen '[::]:0' \
        --token-file "$dir/tokens"
    refuses 'beyond this machine, only TLS' 2 '--token-file' serve --listen 0.0.0.0:0 \
        --tls-self-signed
    refuses 'no such folder' 1 '--models' "${common[@]}" --models "$dir/none"
    refuses 'no such token file' 1 '--token-file' "${common[@]}" --token-file "$dir/none"
    printf 'short\n' >"$dir/short"
    refuses 'short token' 1 'line 1' "${common[@]}" --token-file "$dir/short"
    refuses 'unknown encoder' 1 'nosuchencoder' "${common[@]}" --encoder nosuchencoder
    refuses 'unknown GPU' 1 'nosuchgpu' "${common[@]}" --gpu nosuchgpu
    FRAMEWIRE_FAULT=encode:20 refuses 'fault without unit' 2 'encode:20ms' "${common[@]}" \
        --allow-faults
    has 'faults that are not allowed: a warning' \
        "$(FRAMEWIRE_FAULT=encode:20ms "$binary" "${common[@]}" --gpu nosuchgpu 2>&1)" \
        'not obeyed: it needs --allow-faults'
    refuses 'bad pages' 1 '--static' "${common[@]}" --static "$dir"
    has '--version' "$("$binary" --version)" 'framewire '
    has '--help' "$("$binary" serve --help)" '--listen ADDR:PORT'
}

# ---- open mode

test_api() {
    local id reply
    has 'start-up says the encoder' "$(cat "$dir/out")" 'encoder  x264'
    has 'start-up says the device' "$(cat "$dir/out")" 'gpu      '
    is 'healthz' "$(status GET /healthz)" 200
    is 'readyz' "$(status GET /readyz)" 200
    is 'start page' "$(status GET /)" 200
    has 'sources has the model' "$(request GET /api/v1/sources)" '"file":"Box.obj"'
    is 'openapi' "$(status GET /api/v1/openapi.yaml)" 200
    reply=$(post /api/v1/sessions '{"source":"testcard"}')
    id=$(field id <<<"$reply")
    has 'create: page' "$reply" "\"page\":\"/s/$id#"
    if until_true 2000 state_is "$id" running >/dev/null; then ok 'create: runs'; else bad 'create: runs' "$(request GET "/api/v1/sessions/$id")"; fi
    is 'page of a session' "$(status GET "/s/$id")" 200
    is 'page of no session' "$(status GET /s/nothing)" 404
    is 'exchange' "$(post_status "/api/v1/sessions/$id/exchange" \
        "{\"code\":\"$(sed -E 's/.*#([0-9a-f]+).*/\1/' <<<"$reply")\"}")" 200
    is 'exchange again' "$(post_status "/api/v1/sessions/$id/exchange" \
        "{\"code\":\"$(sed -E 's/.*#([0-9a-f]+).*/\1/' <<<"$reply")\"}")" 401
    is 'bad source' "$(post_status /api/v1/sessions '{"source":"x"}')" 400
    is 'bad type' "$(status POST /api/v1/sessions -d '{}')" 415
    is 'bad method' "$(status PUT /api/v1/sessions -d '')" 405
    is 'wrong Origin' "$(post_status /api/v1/sessions '{"source":"testcard"}' \
        -H 'Origin: https://evil.example')" 403
    is 'wrong Host' "$(status GET /api/v1/sources -H 'Host: evil.example')" 403
    is 'delete' "$(status DELETE "/api/v1/sessions/$id")" 204
    is 'delete again' "$(status DELETE "/api/v1/sessions/$id")" 404
}

test_paths() {
    local path code out leaks=0
    for path in /../etc/passwd /%2e%2e/etc/passwd /..%2fetc/passwd /.%252e/etc/passwd \
        //etc/passwd /lib/../../../etc/passwd '/..\..\etc/passwd' /%00 /static/../../meson.build \
        /../meson.build /lib/%2e%2e/%2e%2e/%2e%2e/meson.build /s/../../../etc/passwd \
        /api/v1/../../../etc/passwd /api/v1/sessions/..%2f..%2fetc%2fpasswd /%c0%ae%c0%ae/etc/passwd; do
        out=$(request GET "$path" -w '\n%{http_code}')
        code=${out##*$'\n'}
        if [[ $code == 200 && $out == *root:* || $out == *project\(* || $code == 5* ]]; then
            leaks=$((leaks + 1))
            printf '  %s gave %s\n' "$path" "$code"
        fi
    done
    is 'paths that try to lead out' "$leaks" 0
    for path in ../secret.obj /etc/passwd ..%2fsecret.obj out.obj 'Box.obj/..' '..\\secret.obj'; do
        is "model '$path'" "$(post_status /api/v1/sessions \
            "{\"source\":\"scene\",\"args\":{\"model\":\"$path\"}}")" 400
    done
}

# ---- workers that are lost

test_workers() {
    local a b pid_a pid_b took
    a=$(post /api/v1/sessions '{"source":"testcard"}' | field id)
    b=$(post /api/v1/sessions '{"source":"testcard"}' | field id)
    until_true 3000 state_is "$a" running >/dev/null
    until_true 3000 state_is "$b" running >/dev/null
    pid_a=$(session_field "$a" workerPid)
    pid_b=$(session_field "$b" workerPid)
    kill -9 "$pid_a"
    if took=$(until_true 3000 new_worker "$a" "$pid_a"); then
        ok "kill -9 of a worker: another one ($took ms)"
    else
        bad 'kill -9 of a worker' "$(request GET "/api/v1/sessions/$a")"
    fi
    is 'the other session keeps its worker' "$(session_field "$b" workerPid)" "$pid_b"
    is 'the restart is counted' "$(session_field "$a" restarts)" 1
    kill -STOP "$pid_b"
    if took=$(until_true 15000 new_worker "$b" "$pid_b"); then
        ok "hung worker: replaced ($took ms)"
    else
        bad 'hung worker' "$(request GET "/api/v1/sessions/$b")"
    fi
    # It was killed before the new one was told to start, but a busy machine takes it away later.
    if until_true 1000 gone "$pid_b" >/dev/null; then ok 'hung worker: gone'; else bad 'hung worker: gone' "$pid_b"; fi

    local i pid
    for ((i = 0; i < 20; i++)); do # until the budget is spent
        pid=$(session_field "$a" workerPid)
        state_is "$a" failed && break
        [[ $pid =~ ^[0-9]+$ ]] && kill -9 "$pid"
        until_true 4000 other_worker "$a" "$pid" >/dev/null
        until_true 4000 settled "$a" >/dev/null
    done
    is 'crash loop: fails' "$(session_field "$a" state)" failed
    has 'crash loop: says why' "$(request GET "/api/v1/sessions/$a")" '"code":"crash_loop"'
    is 'crash loop: 5 restarts' "$(session_field "$a" restarts)" 5
    is 'the other session still runs' "$(session_field "$b" state)" running
    status DELETE "/api/v1/sessions/$a" >/dev/null
    status DELETE "/api/v1/sessions/$b" >/dev/null
}

test_broken_model() {
    local id
    id=$(post /api/v1/sessions '{"source":"scene","args":{"model":"broken.glb"}}' | field id)
    if until_true 8000 state_is "$id" failed >/dev/null; then ok 'broken model: fails'; else bad 'broken model: fails' "$(request GET "/api/v1/sessions/$id")"; fi
    is 'broken model: no restart' "$(session_field "$id" restarts)" 0
    has 'broken model: a reason' "$(request GET "/api/v1/sessions/$id")" '"message":"'
    lacks 'broken model: no path in it' "$(request GET "/api/v1/sessions/$id")" "$dir"
    status DELETE "/api/v1/sessions/$id" >/dev/null
    id=$(post /api/v1/sessions '{"source":"scene","args":{"model":"claims.off"}}' | field id)
    if until_true 8000 state_is "$id" failed >/dev/null; then ok 'lying model: fails'; else bad 'lying model: fails' "$(request GET "/api/v1/sessions/$id")"; fi
    has 'lying model: says why' "$(request GET "/api/v1/sessions/$id")" 'claims to hold more'
    is 'still healthy' "$(status GET /readyz)" 200
    status DELETE "/api/v1/sessions/$id" >/dev/null
}

seat_grace=5 # s
test_seats() {
    local i headers id
    for ((i = 0; i < 3; i++)); do
        id=$(post /api/v1/sessions '{"source":"testcard"}' | field id)
    done
    headers=$("${curl[@]}" -D - -o /dev/null -X POST -H 'Content-Type: application/json' \
        -d '{"source":"testcard"}' "$base/api/v1/sessions")
    has 'full: 503' "$headers" ' 503'
    has 'full: Retry-After' "${headers,,}" 'retry-after: '
    is 'full: not ready' "$(status GET /readyz)" 503
    is 'full: healthy' "$(status GET /healthz)" 200
    status DELETE "/api/v1/sessions/$id" >/dev/null
    is 'a seat is given back' "$(post_status /api/v1/sessions '{"source":"testcard"}')" 201
    sleep "$seat_grace"
    sleep 1
    is 'an unwatched session gives its seat' \
        "$(post_status /api/v1/sessions '{"source":"testcard"}')" 201
    is 'and only one does' "$(request GET /api/v1/sessions | grep -o '"id":' | wc -l)" 3
}

# Sessions that end while they start: their workers are not kept beyond the one that waits.
few_workers() { [[ $(children "$server" | wc -w) -le $1 ]]; }
test_storm() {
    local i id ids took
    for id in $(request GET /api/v1/sessions | grep -oE '"id":"[^"]*' | cut -d'"' -f4); do
        status DELETE "/api/v1/sessions/$id" >/dev/null
    done
    for ((i = 0; i < 6; i++)); do
        ids=()
        for _ in 1 2 3; do
            ids+=("$(post /api/v1/sessions '{"source":"testcard"}' | field id)")
        done
        for id in "${ids[@]}"; do status DELETE "/api/v1/sessions/$id" >/dev/null; done
    done
    is 'storm: no session left' "$(request GET /api/v1/sessions)" '{"sessions":[]}'
    if took=$(until_true 8000 few_workers 1); then
        ok "storm: surplus workers end ($took ms)"
    else
        bad 'storm: surplus workers end' "$(children "$server")"
    fi
    id=$(post /api/v1/sessions '{"source":"testcard"}' | field id)
    if until_true 3000 state_is "$id" running >/dev/null; then ok 'storm: sessions start'; else bad 'storm: sessions start' "$(request GET "/api/v1/sessions/$id")"; fi
}

test_answers() {
    local headers
    headers=$(post /api/v1/sessions '{"source":"testcard"}' -D - -o /dev/null)
    has 'create: Location' "${headers,,}" 'location: /api/v1/sessions/'
    request DELETE "$(sed -nE 's/^location: ([^\r]*).*/\1/Ip' <<<"$headers")"
    headers=$(request PUT /api/v1/sessions -d '' -D - -o /dev/null)
    has 'bad method: Allow' "${headers,,}" 'allow: get, head, post'
    is 'HEAD' "$("${curl[@]}" -I -o /dev/null -w '%{http_code}' "$base/api/v1/sources")" 200
    is 'page of no session' "$(status GET /s/nothing)" 404
    has 'page of no session: a page' "$(request GET /s/nothing)" '<!doctype html>'
}

test_server_killed() {
    local kids took
    kids=$(children "$server")
    kill -9 "$server"
    wait "$server" 2>/dev/null
    server=''
    # shellcheck disable=SC2086
    if took=$(until_true 3000 gone $kids); then
        ok "kill -9 of the server: no worker left ($took ms)"
    else
        bad 'kill -9 of the server' "left: $kids"
    fi
    no_reports 'kill -9 of the server'
}

# ---- with tokens, over TLS

test_tokens() {
    local good='Authorization: Bearer alice-0123456789abcdef' other='Authorization: Bearer bob-0123456789abcdef00'
    local reply id token path method credential wrong=0 shown
    has 'fingerprint is printed' "$(cat "$dir/out")" 'sha-256'
    shown=$(openssl s_client -connect "${base#https://}" </dev/null 2>/dev/null |
        openssl x509 -noout -fingerprint -sha256 | cut -d= -f2)
    has 'fingerprint is that of the certificate' "$(cat "$dir/out")" "${shown:-none}"
    reply=$(post /api/v1/sessions '{"source":"testcard"}' -H "$good")
    id=$(field id <<<"$reply") token=$(field token <<<"$reply")
    is 'right token' "$(status GET "/api/v1/sessions/$id" -H "$good")" 200
    is "the session's token" "$(status GET "/api/v1/sessions/$id" -H "Authorization: Bearer $token")" 200
    is "another's token" "$(status GET "/api/v1/sessions/$id" -H "$other")" 404
    is 'no such session' "$(status GET /api/v1/sessions/nothing -H "$other")" 404
    for credential in '' 'Authorization: Bearer' 'Authorization: Bearer null' \
        'Authorization: Bearer alice-0123456789abcde' 'Authorization: alice-0123456789abcdef' \
        'Authorization: Basic YWxpY2UtMDEyMzQ1Njc4OWFiY2RlZg==' 'X-Token: alice-0123456789abcdef'; do
        for path in /api/v1/sources /api/v1/sessions "/api/v1/sessions/$id" \
            '/api/v1/sources?token=alice-0123456789abcdef' /api/v1/openapi.yaml; do
            for method in GET POST DELETE; do
                reply=$(status "$method" "$path" ${credential:+-H "$credential"} \
                    -H 'Content-Type: application/json' -d '{"source":"testcard"}')
                [[ $reply == 401 ]] || {
                    wrong=$((wrong + 1))
                    printf '  %s %s with "%s": %s\n' "$method" "$path" "$credential" "$reply"
                }
            done
        done
    done
    is 'every endpoint with every bad credential: 401' "$wrong" 0
    is 'static files need none' "$(status GET /)" 200
    is 'healthz needs none' "$(status GET /healthz)" 200
    is 'pages do not tell which sessions exist' \
        "$(status GET /s/nothing)$(status GET "/s/$id")" 200200
    lacks 'no token in the log' "$(cat "$dir/err" "$dir/out")" '0123456789abcdef'
    lacks 'no session token in the log' "$(cat "$dir/err" "$dir/out")" "$token"
    is 'delete with the session token' \
        "$(status DELETE "/api/v1/sessions/$id" -H "Authorization: Bearer $token")" 204
}

# ---- over IPv6

test_ipv6() {
    local own="${base#http://}"
    is 'IPv6: its own address' "$(status GET /api/v1/sources -H "Origin: $base")" 200
    is 'IPv6: by name' "$(status GET /api/v1/sources -H "Host: localhost:${own##*:}")" 200
    is 'IPv6: another Host' "$(status GET /api/v1/sources -H 'Host: [::2]')" 403
    is 'IPv6: another Origin' "$(status GET /api/v1/sources -H 'Origin: http://[::2]')" 403
    is 'IPv6: a session' "$(post_status /api/v1/sessions '{"source":"testcard"}')" 201
}

[[ -x $binary ]] || {
    bad 'the binary' "$binary is not there"
    exit 1
}
mkdir "$dir/models"
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >"$dir/models/Box.obj"
cp "$dir/models/Box.obj" "$dir/secret.obj"
printf 'OFF\n353535235358 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n' >"$dir/models/claims.off"
head -c 5000 /dev/urandom >"$dir/models/broken.glb"
ln -s ../secret.obj "$dir/models/out.obj"
printf 'alice:alice-0123456789abcdef\nbob:bob-0123456789abcdef00\n' >"$dir/tokens"
chmod 600 "$dir/tokens"

test_refusals
if start 'start' --models "$dir/models" --max-sessions 3 --seat-grace "$seat_grace" \
    --log-level debug; then
    is 'state folder is private' "$(stat -c %a "$dir/state")" 700
    test_api
    test_paths
    test_workers
    test_broken_model
    test_seats
    test_storm
    test_answers
    test_server_killed
fi
if start 'start again' --idle-timeout 5; then
    idle=$(post /api/v1/sessions '{"source":"testcard"}' | field id)
    until_true 2000 state_is "$idle" running >/dev/null
    refuses 'address in use' 1 "${base#http://}" serve --listen "${base#http://}" \
        --static "$root/stream/web" --state "$dir/state"
    if took=$(until_true 9000 status_is 404 "/api/v1/sessions/$idle"); then
        ok "a session nobody watches ends ($took ms)"
    else
        bad 'a session nobody watches ends' "$(request GET "/api/v1/sessions/$idle")"
    fi
    post /api/v1/sessions '{"source":"testcard"}' >/dev/null
    stop 'SIGTERM with a session'
fi
if ! grep -qs . /proc/net/if_inet6; then
    echo 'no IPv6 on this machine'
elif start 'start on IPv6' --listen '[::1]:0' --warm 0; then
    test_ipv6
    stop 'SIGTERM on IPv6'
fi
curl+=(--insecure)
if start 'start with TLS and tokens' --tls-self-signed --token-file "$dir/tokens" --log-level trace; then
    test_tokens
    stop 'SIGTERM'
fi

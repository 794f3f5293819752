#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Opening framewire from another machine, as README.md says to do it: a second network namespace is
# the other machine, with https, wss and a token. Run from the project's root, as root.
set -uo pipefail

passed=0 failed=0 skipped=0
check() { # check STATUS WHAT [DETAIL]
    if (($1 == 0)); then
        printf 'ok - %s\n' "$2"
        passed=$((passed + 1))
    else
        printf 'NOT OK - %s %s\n' "$2" "${3:-}"
        failed=$((failed + 1))
    fi
}
skip() {
    printf 'skipped: %s\nnet: 0 passed, 0 failed, 1 skipped\n' "$1"
    exit 0
}

[[ $EUID -eq 0 ]] || skip "network namespaces need root"
a=fwnet$$a b=fwnet$$b
tmp=$(mktemp -d)
server=
cleanup() {
    [[ -n $server ]] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
    stop_proxies
    local ns pid
    for ns in "$a" "$b"; do
        for pid in $(ip netns pids "$ns" 2>/dev/null); do
            kill -KILL "$pid" 2>/dev/null
        done
        ip netns del "$ns" 2>/dev/null
    done
    rm -rf "$tmp" "/etc/netns/$b"
}
stop_proxies() {
    local pid
    for pid in $proxies; do
        kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    done
    proxies=
}
proxies=
trap cleanup EXIT
trap 'exit 130' INT TERM

ip netns add "$a" 2>"$tmp/error" || skip "no network namespaces here: $(cat "$tmp/error")"
ip netns add "$b"
ip link add "fwv$$" netns "$a" type veth peer name "fwv$$" netns "$b" 2>"$tmp/error" ||
    skip "no veth pairs here: $(cat "$tmp/error")"
address=10.201.7.1 port=${FW_TEST_PORT:-8443}
ip -n "$a" addr add $address/24 dev "fwv$$"
ip -n "$b" addr add 10.201.7.2/24 dev "fwv$$"
for ns in "$a" "$b"; do
    ip -n "$ns" link set lo up
    ip -n "$ns" link set "fwv$$" up
done

binary=${FW_BINARY:-$PWD/build/framewire}
url=https://$address:$port
umask 077
token=$(openssl rand -hex 24)
printf '%s\n' "$token" >"$tmp/token"
serve=(ip netns exec "$a" "$binary" serve --listen "$address:$port" --encoder x264
    --state "$tmp/state" --models "${FW_MODELS:-models}")

# ---- it refuses to be open to others by accident ---------------------------------------------

# refuses WHAT "MISSING…" OPTION…: ends by itself with an error that names what is missing.
refuses() {
    local what=$1 missing=$2 rc=0 good=1 option
    shift 2
    timeout 10 "${serve[@]}" "$@" >"$tmp/refuse.log" 2>&1 || rc=$?
    ((rc != 0 && rc != 124)) && good=0
    for option in $missing; do
        grep -q -e "$option" "$tmp/refuse.log" || good=1
    done
    check $good "refuses $what, and says what to give" "(exit $rc: $(tail -n 2 "$tmp/refuse.log"))"
}
refuses "without TLS and token" "--tls-self-signed --token-file"
refuses "with a token but without TLS" --tls-self-signed --token-file "$tmp/token"
refuses "with TLS but without a token" --token-file --tls-self-signed

# ---- as README.md says -------------------------------------------------------------------------

"${serve[@]}" --tls-self-signed --token-file "$tmp/token" >"$tmp/serve.log" 2>&1 &
server=$!
in_b() { ip netns exec "$b" "$@"; }
get() { in_b curl -sk --max-time 10 "$@"; }
for _ in $(seq 100); do
    [[ $(get -o /dev/null -w '%{http_code}' "$url/healthz") == 200 ]] && break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.2
done
[[ $(get -o /dev/null -w '%{http_code}' "$url/healthz") == 200 ]]
check $? "answers over https from the other namespace" "$(tail -n 5 "$tmp/serve.log")"

for _ in $(seq 50); do # it is printed once the GPU is known, a moment after it listens
    shown=$(grep -oiE '([0-9a-f]{2}:){31}[0-9a-f]{2}' "$tmp/serve.log" | head -n 1)
    [[ -n $shown ]] && break
    sleep 0.2
done
real=$(in_b openssl s_client -connect "$address:$port" </dev/null 2>/dev/null |
    openssl x509 -noout -fingerprint -sha256 2>/dev/null | cut -d= -f2)
[[ -n $real && ${shown^^} == "${real^^}" ]]
check $? "the fingerprint it prints is the certificate's" "(printed '$shown', is '$real')"
[[ $(get --http2 -o /dev/null -w '%{http_version}' "$url/healthz") == 1.1 ]]
check $? "only HTTP/1.1 is negotiated"
[[ $(get -o /dev/null -w '%{http_code}' "$url/") == 200 ]]
check $? "the start page is public"
[[ $(get -o /dev/null -w '%{http_code}' "$url/api/v1/sessions") == 401 ]]
check $? "the API without a token: 401"
[[ $(get -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer wrong' \
    "$url/api/v1/sessions") == 401 ]]
check $? "with a wrong token: 401"
[[ $(get -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" \
    "$url/api/v1/sessions") == 200 ]]
check $? "with the token: 200"
code=$(get -o /dev/null -w '%{http_code}' -H 'Host: evil.example' -H "Authorization: Bearer $token" \
    "$url/api/v1/sessions")
[[ $code == 4* ]]
check $? "another Host header is refused" "($code)"
code=$(get -o /dev/null -w '%{http_code}' -H 'Origin: https://evil.example' \
    -H "Authorization: Bearer $token" "$url/api/v1/sessions")
[[ $code == 4* ]]
check $? "another Origin is refused" "($code)"
in_b curl -s --max-time 5 -o /dev/null "http://$address:$port/api/v1/sessions"
(($? != 0))
check $? "plain http gets nothing"

# run_client NAME FILE: a client in the other namespace; its checks count as ours.
run_client() {
    local out
    out=$(in_b node "$2" 2>&1)
    printf '%s\n' "$out"
    if [[ $out =~ $1-client:\ ([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    else
        check 1 "the $1 client ran to its end"
    fi
}
FW_URL=$url FW_TOKEN=$token run_client net tests/net/net_client.mjs
kill -0 "$server" 2>/dev/null
check $? "the server is still there" "$(tail -n 5 "$tmp/serve.log")"
kill -TERM "$server"
wait "$server"
rc=$?
server=
check $rc "it ends in order" "(exit $rc)"
! grep -q -e "$token" "$tmp/serve.log"
check $? "the token stands nowhere in its log"
! grep -rqs -e "$token" "$tmp/state"
check $? "nor in its state folder"
[[ -z $(ip netns pids "$a") ]]
check $? "no process is left behind" "$(ip netns pids "$a" | tr '\n' ' ')"

# ---- over a link that is slow on purpose ---------------------------------------------------------

if [[ -c /dev/net/tun ]]; then
    FW_NS_A=$a FW_NS_B=$b FW_SHAPER=${FW_SHAPER:-$PWD/build/tests/net/shaper} FW_VALIDATION=0 \
        run_client shaped tests/net/shaped.mjs
else
    printf 'skipped: a slow link needs /dev/net/tun\n'
    skipped=1
fi

# ---- behind a proxy, as deploy/proxy/ says -------------------------------------------------------

# Both proxies before one framewire on loopback; the visitor knows them by a name of their own.
name=view.example inner=8080 outer_nginx=8444 outer_haproxy=8445
mkdir -p "/etc/netns/$b"
printf '127.0.0.1 localhost\n%s %s\n' "$address" "$name" >"/etc/netns/$b/hosts"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$name" -keyout "$tmp/key.pem" \
    -out "$tmp/cert.pem" 2>/dev/null
cat "$tmp/cert.pem" "$tmp/key.pem" >"$tmp/both.pem"
chmod 755 "$tmp" # nginx drops its rights
{
    printf 'daemon off; error_log %s; pid %s;\nevents { }\nhttp {\naccess_log off;\n' \
        "$tmp/nginx.log" "$tmp/nginx.pid"
    sed "s|listen 443|listen $address:$outer_nginx|; s|/etc/ssl/.*\.pem|$tmp/cert.pem|
        s|/etc/ssl/.*\.key|$tmp/key.pem|; s|127.0.0.1:8080|127.0.0.1:$inner|" \
        deploy/proxy/nginx.conf
    printf '}\n'
} >"$tmp/nginx.conf"
sed "s|bind :443|bind $address:$outer_haproxy|; s|/etc/ssl/.*\.pem|$tmp/both.pem|
    s|127.0.0.1:8080|127.0.0.1:$inner|" deploy/proxy/haproxy.cfg >"$tmp/haproxy.cfg"

ip netns exec "$a" "$binary" serve --listen "127.0.0.1:$inner" --encoder x264 \
    --state "$tmp/state" --token-file "$tmp/token" \
    --public-origin "https://$name:$outer_nginx" --public-origin "https://$name:$outer_haproxy" \
    >"$tmp/serve2.log" 2>&1 &
server=$!
ip netns exec "$a" nginx -c "$tmp/nginx.conf" -e "$tmp/nginx.log" >"$tmp/nginx.out" 2>&1 &
proxies=$!
ip netns exec "$a" haproxy -db -f "$tmp/haproxy.cfg" >"$tmp/haproxy.out" 2>&1 &
proxies+=" $!"
for proxy in nginx haproxy; do
    outer=outer_$proxy
    url=https://$name:${!outer}
    for _ in $(seq 100); do
        [[ $(get -o /dev/null -w '%{http_code}' "$url/readyz") == 200 ]] && break
        sleep 0.1
    done
    FW_NAME=$proxy FW_URL=$url FW_TOKEN=$token run_client "$proxy" tests/net/proxy_client.mjs
    code=$(get -o /dev/null -w '%{http_code}' -H 'Host: evil.example' "$url/")
    [[ $code == 403 ]]
    check $? "$proxy: another Host is refused" "($code)"
    code=$(get -o /dev/null -w '%{http_code}' -H "Host: $name" "$url/")
    [[ $code == 403 ]]
    check $? "$proxy: the name with another port is refused" "($code)"
done
stop_proxies
kill -TERM "$server"
wait "$server"
rc=$?
server=
check $rc "behind proxies: it ends in order" "(exit $rc, $(tail -n 3 "$tmp/serve2.log"))"
! grep -q -e "$token" "$tmp/serve2.log"
check $? "behind proxies: no token in its log"

printf 'net: %d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
((failed == 0))

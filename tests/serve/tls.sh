#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tackle serve over TLS, with certificates made here.
. "$(dirname "$0")/lib.bash"
start_server

# certify NAME: a key, and a certificate for localhost that is its own authority.
certify() {
    (umask 077 && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
        -subj "/CN=$1" -addext "subjectAltName = DNS:localhost, IP:127.0.0.1" \
        -keyout "$home/$1.key" -out "$home/$1.crt" 2>/dev/null) || fail "no certificate"
}
certify one
certify two

# ---- Wrong files ----------------------------------------------------------------------------------

ends 64 tackle serve --tls-cert "$home/one.crt"
ends 64 tackle serve --tls-key "$home/one.key"
ends 64 tackle serve --tls-cert "$home/one.crt" --tls-key "$home/two.key"
has "$err" "another certificate"
ends 64 tackle serve --tls-cert "$home/one.key" --tls-key "$home/one.key"
has "$err" "no certificate"
ends 64 tackle serve --tls-cert "$home/one.crt" --tls-key "$home/one.crt"
: >"$home/empty"
ends 64 tackle serve --tls-cert "$home/empty" --tls-key "$home/one.key"
ends 70 tackle serve --tls-cert "$home/nothing" --tls-key "$home/one.key"
ends 70 tackle serve --tls-cert "$home/one.crt" --tls-key "$home/nothing"
cp "$home/one.key" "$home/open.key"
chmod 644 "$home/open.key"
ends 77 tackle serve --tls-cert "$home/one.crt" --tls-key "$home/open.key"
has "$err" "others may use it"

# ---- Calls ----------------------------------------------------------------------------------------

serve --tls-cert "$home/one.crt" --tls-key "$home/one.key" --heartbeat 1s
has "$base" https://
: >"$home/body"
answers 000 /healthz # an authority that the client does not know
export CURL_CA_BUNDLE=$home/one.crt
answers 200 /healthz
answers 200 /v1/queue/push '{"name": "q", "payload": ["a", "b"]}'
answers 200 /v1/queue/claim '{"name": "q"}'
is "payload" "$(field .payload)" a
answers 000 /healthz --cacert "$home/two.crt"
answers 000 /healthz --tls-max 1.1
answers 200 /healthz --tls-max 1.2
curl -s "http://127.0.0.1:$port/healthz" >/dev/null && fail "plain HTTP is answered"
head -c 3000 /dev/urandom >"/dev/tcp/127.0.0.1/$port"
answers 200 /healthz

# A large body in pieces, and a large answer.
payload=$(head -c 200000 /dev/zero | tr '\0' x)
printf '{"name": "large", "payload": "%s"}' "$payload" >"$home/large"
answers 200 /v1/queue/push "@$home/large"
answers 200 /v1/queue/claim '{"name": "large"}'
is "all of it" "$(field '.payload | length')" 200000

# ---- Waits and streams ----------------------------------------------------------------------------

tackle lock acquire door --lease 60s >/dev/null
curl -s -d '{"name": "door", "wait": "60s"}' "$base/v1/lock/acquire" >/dev/null &
waiter=$!
eventually sh -c 'tackle --json lock show door | jq -e ".waiters == 1"'
kill -9 "$waiter"
eventually sh -c 'tackle --json lock show door | jq -e ".waiters == 0"'
tackle lock break door >/dev/null

curl -sN -H 'Accept: text/event-stream' "$base/v1/channel/follow?name=news" >"$home/news" &
follower=$!
eventually grep -qx ':' "$home/news"
tackle channel publish news hello >/dev/null
eventually grep -q '"hello"' "$home/news"
curl -sN -d '{"name": "door", "lease": "1s", "keep": true}' "$base/v1/lock/acquire" >"$home/hold" &
holder=$!
eventually grep -q token "$home/hold"
sleep 2
answers 409 /v1/lock/acquire '{"name": "door"}'
kill -9 "$holder" "$follower"
gone() { call /metrics && grep -qx 'tackle_serve_streams 0' <<<"$body"; }
eventually gone
answers 200 /v1/lock/acquire '{"name": "door", "wait": "10s"}'
unserve

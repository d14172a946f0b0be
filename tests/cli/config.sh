#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle config` and `tackle maintenance`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

ends 0 tackle config set limits search '{"results": 50}' --author ann --json
is "set" "$(jq -c . <<<"$out")" '{"kind":"limits","component":"search","version":1}'
is "get" "$(tackle config get limits search)" '{"results": 50}'
ends 0 tackle config get limits search --json
is "get as JSON" "$(jq -c '[.kind, .component, .version, .author, .value.results]' <<<"$out")" \
    '["limits","search",1,"ann",50]'
is "the time" "$(jq -r .changed_at <<<"$out" | grep -c 'Z$')" 1
ends 0 tackle config set limits search 80 --if-version 1
ends 1 tackle config set limits search 90 --if-version 1 --json
is "conflict" "$(jq -r .error <<<"$err")" TKL_CONFLICT
ends 1 tackle config set limits search 90 --if-version none
ends 64 tackle config set limits search 90 --if-version 0
ends 0 tackle config set limits other '"x"' --if-version none
is "from standard input" "$(echo '[1, 2]' | tackle config set limits other --json | jq .version)" 2
ends 64 tackle config set limits search '{"results": }'
has "$err" "not JSON"
ends 64 tackle config set 'a b' search 1
is "large numbers" "$(tackle config set limits big 123456789012345678901234567890 &&
    tackle config get limits big)" $'version  1\n123456789012345678901234567890'
ends 0 tackle config set limits exact $'{"pi": 3.14159265358979323846,\n "x": 1.50, "e": 1e5}'
exact='"value": {"pi": 3.14159265358979323846,  "x": 1.50, "e": 1e5}}'
for verb in get 'watch --max 1' history; do
    # shellcheck disable=SC2086
    set -- $verb
    ends 0 tackle config "$1" limits exact "${@:2}" --json
    has "$out" "$exact"
    is "$verb: one line of JSON" "$(jq -c . <<<"$out" | wc -l) $(wc -l <<<"$out")" "1 1"
done
has "$(tackle config history limits exact)" 3.14159265358979323846
ends 0 tackle config drop limits exact --yes
ends 64 tackle config set limits search 1 --history 0
has "$err" "from 1 to 1000"
ends 64 tackle config set limits search 1 --history 1001
has "$err" "from 1 to 1000"
is "history" "$(tackle config history limits search --json | jq -c '[.[] | [.version, .value]]')" \
    '[[2,80],[1,{"results":50}]]'
is "history, the newest" "$(tackle config history limits search --max 1 --json | jq length)" 1
is "list" "$(tackle config list --json | jq -c '[.[] | .kind + " " + .component]')" \
    '["limits big","limits other","limits search"]'
is "watch" "$(tackle config watch limits search --max 1)" 80
tackle config set limits wide $'{\n"a": 1\n}' >/dev/null
is "a line for a change" "$(tackle config watch limits wide --max 1)" '{ "a": 1 }'
is "as it was written" "$(tackle config get limits wide)" $'{\n"a": 1\n}'
tackle config drop limits wide --yes
is "watch a change" "$( (sleep 0.3; tackle config set limits search 81 >/dev/null) &
    tackle config watch limits search --max 2 --json | jq -c '[.version, .value]')" \
    $'[2,80]\n[3,81]'
ends 1 tackle config watch limits search --wait 50ms
is "what was there" "$out" 81
ends 64 tackle config watch limits search --max 0
ends 64 tackle config drop limits search
ends 0 tackle config drop limits search --yes --json
is "drop" "$(jq .dropped <<<"$out")" true
ends 1 tackle config drop limits search --yes
ends 1 tackle config get limits search
is "versions go on" "$(tackle config set limits search 1 --json | jq .version)" 4

# The server of a component.
ends 0 tackle config set server shop "{\"url\": \"$TACKLE_URL\", \"namespace\": \"shop\"}"
tackle --url config:shop counter add visits >/dev/null
is "in its namespace" "$(tackle --namespace shop counter list --json | jq length)" 1
ends 1 tackle --url config:nosuch ping --json
is "no server" "$(jq -r .error <<<"$err")" TKL_NOTFOUND
ends 1 tackle --url config:nosuch ping
has "$err" "no server is configured for 'nosuch'"
ends 64 tackle --url config: ping
ends 64 env TACKLE_URL=config:shop tackle ping
has "$err" "TACKLE_URL: config:shop is for --url alone"
is "while it is held" "$(tackle --url config:shop lock run door -- \
    tackle --namespace shop lock list --json | jq length)" 1
tackle config get server shop >/dev/null || fail "it was dropped"
ends 64 tackle config set server shop '{"host": "db", "timeout_ms": -5}'
has "$err" '"timeout_ms" is not a whole number'
ends 64 tackle config set server shop '{"host": "db", "port": "6379"}' --json
is "checked" "$(jq -c '[.error,.message]' <<<"$err")" \
    '["TKL_EINVAL","\"port\" is not a whole number from 0 to 65535"]'
ends 0 tackle config set server shop '{"host": "db", "port": 6380, "db": 1, "user": "u", "tls": true}'
ends 0 tackle config drop server shop --yes

ends 1 tackle maintenance status --json
is "off" "$(jq -c . <<<"$out")" '{"name":"all","on":false,"reason":null,"since":null}'
ends 0 tackle maintenance on --reason 'moving it'
ends 0 tackle maintenance status --json
is "on" "$(jq -c '[.on, .reason]' <<<"$out")" '[true,"moving it"]'
ends 1 tackle maintenance status other
ends 0 tackle maintenance off
ends 1 tackle maintenance status
ends 0 tackle config set maintenance odd '{"on": "yes"}'
ends 70 tackle maintenance status odd --json
is "no flag" "$(jq -r .error <<<"$err")" TKL_EDAMAGED
ends 69 tackle --url redis://127.0.0.1:1 maintenance status

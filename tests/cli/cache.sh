#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle cache`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server
cd "$(mktemp -d)" || exit 1

ends 1 tackle cache get users
ends 1 tackle cache show users
is "run" "$(tackle cache run users -- sh -c 'echo x >>runs; echo 42')" 42
is "run again" "$(tackle cache run users -- sh -c 'echo x >>runs; echo 43')" 42
is "one run" "$(wc -l <runs)" 1
ends 0 tackle cache run users --json -- false
is "JSON" "$(jq -c '[.key, .value, .none, .stale, .computed, .fresh_ms > 0]' <<<"$out")" \
    '["users","42\n",false,false,false,true]'
for i in 1 2 3 4 5 6; do
    tackle cache run many -- sh -c 'echo x >>many; sleep 0.3; echo 1' >"many.$i" &
done
wait
is "many callers, one run" "$(wc -l <many) $(cat many.? | sort | uniq -c | tr -s ' ')" "1  6 1"
ends 3 tackle cache run broken -- sh -c 'exit 3'
ends 4 tackle cache run absent --none-exit 4 -- sh -c 'exit 4'
ends 4 tackle cache run absent --none-exit 4 -- sh -c 'echo ran >&2'
is "none is kept" "$err" ""
ends 1 tackle cache get absent --json
is "none" "$(jq -c '[.value, .none]' <<<"$out")" '[null,true]'
ends 0 tackle cache set old 1 --ttl 1ms --stale 1h
sleep 0.1
ends 0 tackle cache run old --json -- sh -c 'exit 3'
is "an old value" "$(jq -c '[.value, .stale]' <<<"$out")" '["1",true]'
ends 0 tackle cache drop old --yes
ends 0 tackle cache set old 1 --ttl 1ms --stale 1h
sleep 0.1
ends 0 tackle cache run old -- sh -c 'exit 3'
has "$err" "this is the old value"
ends 0 tackle cache run old -- sh -c 'exit 4'
is "not tried again at once" "$err" ""
ends 127 tackle cache run users -- no-such-command
ends 64 tackle cache run large -- head -c 5000000 /dev/zero

ends 0 tackle cache set a 1 --tags x,y --json
is "set" "$(jq -c . <<<"$out")" '{"key":"a","stored":true}'
echo 2 | tackle cache set b --tags y
is "from standard input" "$(tackle cache get b)" 2
ends 0 tackle cache show a --json
is "show" "$(jq -c '[.bytes, .none, .computing, .has_failed]' <<<"$out")" '[1,false,false,false]'
ends 64 tackle cache drop --tag y
ends 0 tackle cache drop --tag y --yes --json
is "tag" "$(jq -c . <<<"$out")" '{"key":null,"tag":"y","dropped_values":2}'
ends 1 tackle cache get a
ends 0 tackle cache set c --none
ends 1 tackle cache get c
ends 0 tackle cache drop c --yes
ends 1 tackle cache drop c --yes
is "list" "$(tackle cache list --json | jq -c '[.[].key]')" '["absent","many","old","users"]'
ends 64 tackle cache drop
ends 64 tackle cache drop a --tag y --yes
ends 64 tackle cache set a 1 --ttl 0
ends 64 tackle cache set a 1 --tags x,,y
ends 64 tackle cache set a 1 --none
ends 64 tackle cache set a --none --none-ttl 0
ends 64 tackle cache run a --none-exit 0 -- true
ends 64 tackle cache run a
ends 64 tackle cache set '' 1

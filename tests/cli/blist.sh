#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle blist`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

is "push" "$(tackle blist push mail ann bob)" 2
is "lines" "$(printf 'eve\n\nzoe' | tackle blist push mail --lines --json | jq -c .)" '{"name":"mail","length":5}'
is "standard input" "$(printf 'two\nlines\n' | tackle blist push mail)" 6
is "a dash" "$(printf 'dash' | tackle blist push mail -)" 7
is "list" "$(tackle blist list --json | jq -c .)" "$(tackle blist list --scan --json | jq -c .)"
is "length" "$(tackle blist length mail --json | jq -c .)" '{"name":"mail","length":7}'
is "pop" "$(tackle blist pop mail)" ann
is "pop as JSON" "$(tackle blist pop mail --json | jq -c .)" '{"name":"mail","items":["bob"]}'
is "pop with time" "$(tackle blist pop mail --wait 10s)" eve
is "an empty item" "$(tackle blist pop mail --json | jq -c .items)" '[""]'
is "pop" "$(tackle blist pop mail)" zoe
is "several lines" "$(tackle blist pop mail)" "two"$'\n'"lines"

printf 'a\0\377' | tackle blist push bytes >/dev/null
is "bytes" "$(tackle blist pop bytes | od -An -c | tr -d ' ')" 'a\0377\n'
printf 'a\0\377' | tackle blist push bytes >/dev/null
is "bytes as JSON" "$(tackle blist pop bytes --json | jq -c .items)" '[{"base64":"YQD/"}]'

# Both ends, and a wait without an end.
tackle blist push ends a b >/dev/null
tackle blist push ends c d --first >/dev/null
is "both ends" "$(tackle blist pop ends --max 9 --json | jq -c .items)" '["d","c","a","b"]'
tackle blist push ends a b c >/dev/null
is "a stack" "$(tackle blist pop ends --last --max 2 --json | jq -c .items)" '["c","b"]'
is "for ever" "$(tackle blist pop ends --last --wait forever)" a
(sleep 0.3 && tackle blist push ends late >/dev/null) &
is "waited for" "$(tackle blist pop ends --wait forever)" late
wait
ends 64 tackle blist pop ends --wait always

# An item comes from the first list that has one.
tackle blist push low l1 l2 >/dev/null
tackle blist push high h1 >/dev/null
is "high first" "$(tackle blist pop high low --json | jq -c .)" '{"name":"high","items":["h1"]}'
is "then low" "$(tackle blist pop high low --wait 1s --json | jq -c .)" '{"name":"low","items":["l1"]}'

# Waiting ends with the item, or with the time.
tackle blist pop later --wait 30s >"$home/popped" &
for ((i = 0; i < 1000; i++)); do
    [[ $(tackle call INFO clients) == *blocked_clients:1* ]] && break
    sleep 0.02
done
tackle blist push later item >/dev/null
wait $! || fail "the pop that waited ended with $?"
is "waited for" "$(cat "$home/popped")" item
ends 1 tackle blist pop later --wait 50ms
ends 1 tackle blist pop later

tackle blist push many a b c d >/dev/null
is "several at once" "$(tackle blist pop many --max 2 --json | jq -c .)" '{"name":"many","items":["a","b"]}'
is "several lines" "$(tackle blist pop many --max 9)" "c"$'\n'"d"
ends 64 tackle blist pop many --max 0
tackle blist push brief x --ttl 1h >/dev/null
[[ $(tackle call PTTL 'tackle:blist:{brief}') =~ [1-9] ]] || fail "no expiry"
tackle blist pop brief >/dev/null
tackle blist push mail x >/dev/null
is "list" "$(tackle blist list | tr '\n' ' ')" "NAME low mail "
is "list as JSON" "$(tackle blist list --json | jq -c 'map(.name)')" '["low","mail"]'

ends 64 tackle blist drop mail </dev/null
ends 0 tackle blist drop mail --yes --json
is "dropped" "$(jq -c . <<<"$out")" '{"name":"mail","dropped":true}'
ends 1 tackle blist drop mail --yes
is "length of nothing" "$(tackle blist length mail)" 0
ends 64 tackle blist push
ends 64 tackle blist push mail a b --lines
ends 64 tackle blist pop
ends 64 tackle blist pop mail --wait soon
tackle call SADD 'tackle:blist:{set}' x >/dev/null
ends 70 tackle blist pop set
ends 70 tackle blist push set x

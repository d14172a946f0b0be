#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle leader`: a command that runs on one machine of many, and which machine leads.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/hold.bash"
start_server

term() { tackle leader show "$1" --json 2>/dev/null | jq .term; }
led_by() { [ "$(tackle leader show "$1" --json 2>/dev/null | jq -r .label)" = "$2" ]; }
stood_for() { [ "$(tackle leader show "$1" --json 2>/dev/null | jq .candidates)" = "$2" ]; }
nobody() { [ -z "$(term "$1")" ]; }
lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }

# ---- The command -----------------------------------------------------------------------------------

ends 0 tackle leader run seat --label x:1 -- sh -c \
    'tackle leader show "$TACKLE_LEADER" --json; echo "$TACKLE_TOKEN $TACKLE_FENCE"'
read -r token fence <<<"${out##*$'\n'}"
out=${out%%$'\n'*}
yields '[.name, .term, .label, .candidates, .line]' "[\"seat\",$fence,\"x:1\",0,[]]"
[[ $token =~ ^[0-9a-f]{32}$ ]] || fail "token: $token"
for code in 0 3 69 76; do
    ends $code tackle leader run seat -- sh -c "exit $code"
done
ends 127 tackle leader run seat -- no-such-command-anywhere
nobody seat || fail "the seat is not free"
ends 1 tackle leader show seat --json
is "nothing on stdout" "$out" ""
has "$err" '"TKL_NOTFOUND"'
ends 64 tackle leader run seat
ends 64 tackle leader run seat --lease 0 -- true
ends 64 tackle leader run seat --replicas -1 -- true
ends 69 tackle --url redis://127.0.0.1:1 leader run seat -- true

# ---- Two stand, the second leads when the first ends -----------------------------------------------

tackle leader watch seat --json >"$home/watched" &
watcher=$!
eventually "it watches" lines "$home/watched" 1
background tackle leader run seat --label first -- sleep 600 &
first=$!
eventually "the first leads" led_by seat first
ends 75 tackle leader run seat --wait 0 -- true
has "$err" "held by"
background tackle leader run seat --label second -- sleep 600 &
second=$!
eventually "the second stands" stood_for seat 1
kill -TERM $first
wait $first
eventually "the second leads" led_by seat second
ends 0 tackle leader list --json
yields '[.[] | .name, .label]' '["seat","second"]'

# ---- A leader that is broken stands again ------------------------------------------------------------

before=$(term seat)
ends 0 tackle leader break seat --json
yields . '{"name":"seat","broken":true}'
elected_again() { led_by seat second && [ "$(term seat)" -gt "$before" ]; }
eventually "it leads again" elected_again

# ---- Killed: the guard ends its command and resigns ----------------------------------------------------

kill -KILL $second
wait $second
eventually "nobody leads" nobody seat
ends 1 tackle leader break seat
eventually "all changes were seen" lines "$home/watched" 6
kill $watcher
is "who was seen" "$(jq -r '.label // "-"' "$home/watched" | tr '\n' ' ')" "- first second - second - "

# ---- It resigns by its token ---------------------------------------------------------------------------

ends 76 tackle leader run seat --once -- \
    sh -c 'tackle leader resign seat "$TACKLE_TOKEN"; exec sleep 600'
ends 1 tackle leader resign seat 0123456789abcdef0123456789abcdef
ends 1 tackle leader watch seat --wait 50ms
is "nobody" "$out" "(none)"
ends 0 tackle leader watch seat --max 1
ends 64 tackle leader watch seat --max 0

# ---- A signal ends one that stands, and the pause before it stands again --------------------------------

background tackle leader run seat -- sleep 600 &
leader=$!
eventually "it leads" led_by seat sleep
background tackle leader run seat -- sleep 600 &
candidate=$!
eventually "one stands" stood_for seat 1
kill -TERM $candidate
wait $candidate
is "the candidate's end" $? 143
kill -TERM $leader
wait $leader
is "the leader's end" $? 143
nobody seat || fail "the seat is not free"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle sem`: every verb, what it prints and how it ends. What it shares with `tackle lock` is
# tested there.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/hold.bash"
start_server

token_of() { jq -r .token <<<"$out"; }
held() { [ "$(tackle sem show "$1" --json | jq .held)" = "$2" ]; }
waiting() { [ "$(tackle sem show "$1" --json | jq .waiters)" = "$2" ]; }

# ---- By hand --------------------------------------------------------------------------------------

ends 0 tackle sem acquire pool --limit 2 --lease 1h --label one --json
yields 'keys_unsorted' '["name","token","fence","lease_ms"]'
yields '[.name, .lease_ms, (.token | test("^[0-9a-f]{32}$"))]' '["pool",3600000,true]'
one=$(token_of) fence=$(jq .fence <<<"$out")
ends 0 tackle sem acquire pool --limit 2 --lease 1h --json
yields ".fence > $fence" true
two=$(token_of)
ends 1 tackle sem acquire pool --limit 2
is "none is left" "$err" "tackle: sem acquire: no permit is free: 2 taken"
is "and nothing on stdout" "$out" ""
ends 1 tackle sem acquire pool --limit 2 --wait 50ms

ends 0 tackle sem show pool --json
yields 'keys_unsorted' '["name","held","limit","holders","waiters","line"]'
yields '[.name, .held, .limit, .waiters, (.holders | length)]' '["pool",2,2,0,2]'
yields '.holders[0] | keys_unsorted' '["host","pid","label","fence","left_ms","since_ms"]'
yields '[.holders[].label] | sort' '[null,"one"]'
ends 0 tackle sem show pool
has "$out" "limit    2"

ends 0 tackle sem renew pool "$one" --lease 2h --json
yields '[.name, .token, .fence, .lease_ms]' "[\"pool\",\"$one\",$fence,7200000]"
ends 0 tackle sem release pool "$one" --json
yields . '{"name":"pool","released":true}'
ends 1 tackle sem release pool "$one"
ends 1 tackle sem renew pool "$one"
ends 1 tackle sem release pool nonsense

# The latest limit counts; lowering it takes nothing away, raising it lets others in.
ends 0 tackle sem acquire pool --limit 3
ends 0 tackle sem show pool --json
yields '[.held, .limit]' '[2,3]'
ends 1 tackle sem acquire pool --limit 1
ends 0 tackle sem show pool --json
yields '[.held, .limit]' '[2,1]'
ends 0 tackle sem release pool "$two"
ends 1 tackle sem acquire pool --limit 1
ends 0 tackle sem acquire pool --limit 2

ends 1 tackle sem show nothing --json
has "$err" "there is no semaphore 'nothing'"
is "nothing on stdout" "$out" ""

# ---- list and break -------------------------------------------------------------------------------

ends 0 tackle sem acquire other --limit 9 --json
ends 0 tackle sem list --json
yields '[.[] | [.name, .held, .limit]]' '[["other",1,9],["pool",2,2]]'
ends 0 tackle sem list
has "$out" "LEASE LEFT"
ends 0 tackle sem break other --json
yields . '{"name":"other","broken":true}'
ends 1 tackle sem break other
has "$err" "nobody holds '"

# A lock of the same name is another thing.
ends 0 tackle lock acquire pool --lease 1h

ends 70 bash -c 'tackle sem acquire unread --limit 1 --lease 1h >/dev/full'
held unread 0 || fail "a permit that nobody could read of is kept"

# ---- run ------------------------------------------------------------------------------------------

ends 6 tackle sem run crew --limit 1 -- sh -c 'echo "$TACKLE_SEM $TACKLE_TOKEN $TACKLE_FENCE"; exit 6'
[[ $out =~ ^crew\ [0-9a-f]{32}\ [0-9]+$ ]] || fail "environment: $out"
ends 75 tackle sem run crew --limit 1 -- tackle sem run crew --limit 1 --wait 0 -- echo never
has "$err" "no permit is free: 1 taken"
ends 0 tackle sem run crew --limit 2 -- tackle sem run crew --limit 2 --wait 0 -- echo both
is "two of two" "$out" both
ends 127 tackle sem run crew --limit 1 -- no-such-command-anywhere
is "input" "$(echo hello | tackle sem run crew --limit 1 -- cat)" hello

# Never more than the limit at once, and all have their turn.
for i in 1 2 3 4 5 6; do
    tackle sem run crowd --limit 2 -- sh -c \
        'mkdir "$0.$$"; ls -d "$0".* | wc -l >>"$0"; sleep 0.1; rmdir "$0.$$"' "$home/crowd" &
    runners[i]=$!
done
for i in 1 2 3 4 5 6; do ended "${runners[i]}" 0; done
is "turns" "$(wc -l <"$home/crowd")" 6
is "more than two at once" "$(awk '$1 > 2' "$home/crowd")" ""
held crowd 0 || fail "a permit is left"

# In order of arrival; a signal ends a wait and leaves nothing in the line.
ends 0 tackle sem acquire gate --limit 1 --lease 1h --json
token=$(token_of)
background tackle sem run gate --limit 1 -- touch "$home/ran" &
runner=$!
eventually "it waits" waiting gate 1
kill -INT $runner
ended $runner 130
waiting gate 0 || fail "somebody is left in the line"
for i in 1 2 3; do
    tackle sem run gate --limit 1 -- sh -c "echo $i >>$home/order" &
    eventually "waiter $i" waiting gate $i
done
ends 0 tackle sem release gate "$token"
wait
is "order" "$(tr '\n' ' ' <"$home/order")" "1 2 3 "
[ ! -e "$home/ran" ] || fail "ran without a permit"

# Losing the permit ends the command.
background tackle sem run lost --limit 1 --lease 3s -- sh -c \
    'echo "$TACKLE_TOKEN" >"$0"; exec sleep 600' "$home/lost" 2>"$home/complaint" &
runner=$!
eventually "it runs" test -s "$home/lost"
ends 0 tackle sem release lost "$(cat "$home/lost")"
ended $runner 76
has "$(cat "$home/complaint")" "lost lost: ending the command"

# ---- Wrong usage, no server -----------------------------------------------------------------------

for wrong in "acquire" "acquire a" "acquire a --limit 0" "acquire a --limit -1" "acquire a --limit x" \
    "acquire a --limit 1000001" "acquire a --limit 1 --lease 0" "acquire a --limit 1 --wait x" \
    "acquire '' --limit 1" "renew a" "release a" "show" "run a --limit 1" "run a -- echo" \
    "run a --limit 1 echo" "run a --limit 1 --on-lost x -- echo"; do
    eval "ends 64 tackle sem $wrong"
    has "$err" "tackle: sem"
    is "$wrong: nothing on stdout" "$out" ""
done
ends 64 tackle sem acquire '' --limit 1
has "$err" "a semaphore needs a name"
for verb in "acquire a --limit 1" "renew a 00000000000000000000000000000000" "show a" \
    "run a --limit 1 -- echo"; do
    ends 69 tackle --url redis://127.0.0.1:1 --timeout 500ms sem $verb
done
echo "sem: all good"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Rate limits from the shell.
#
# ctest: cost 30
. "$(dirname "$0")/lib.bash"
start_server

# The answers, in three forms.
ends 0 tackle limit check api alice --rate 30/60s --burst 15 --cell
is "as redis-cell answers" "$out" "0 16 15 -1 2"
ends 0 tackle limit check api bob --rate 30/60s --burst 15 --json
is "json" "$(jq -c . <<<"$out")" \
    '{"allowed":true,"taken":1,"limit":16,"remaining":15,"retry_after_ms":null,"reset_after_ms":2000,"ticket":null}'
ends 0 tackle limit check api carol --rate 30/60s --burst 15
is "for people" "$out" "allowed, 15 of 16 remain"
ends 0 tackle limit check api dave --rate 30/60s --burst 15 --cell --json
is "both" "$(jq -c . <<<"$out")" "[0,16,15,-1,2]"

# Limited: exit code 1, and the answer all the same.
ends 0 tackle limit check slow alice --rate 1/1h
ends 1 tackle limit check slow alice --rate 1/1h --json
is "limited" "$(jq -c '[.allowed, .remaining, .retry_after_ms > 3500000]' <<<"$out")" \
    '[false,0,true]'
ends 1 tackle limit check slow alice --rate 1/1h
has "$out" "limited, 0 of 1 remain, fits in "
ends 1 tackle limit check slow alice --rate 1/1h --quantity 2 --cell
[[ $out =~ ^"1 1 0 -1 3"[56][0-9][0-9]$ ]] || fail "what does not fit has another answer: $out"
ends 0 tackle limit check slow bob --rate 1/1h --quantity 0
is "a look" "$out" "nothing taken, 1 of 1 remain"
ends 1 tackle limit check slow alice --rate 1/1h --quantity 0
has "$out" "nothing taken, 0 of 1 remain, the next fits in "
ends 1 tackle limit check slow alice --rate 1/1h --quantity 0 --json
is "a look as JSON" "$(jq -c '[.allowed, .taken, .remaining, .retry_after_ms > 3500000, .ticket]' <<<"$out")" \
    '[false,0,0,true,null]'
ends 0 tackle limit check slow bob --rate 1/1h --quantity 0 --json
is "one would fit" "$(jq -c '[.allowed, .taken, .remaining, .retry_after_ms]' <<<"$out")" \
    '[true,0,1,null]'
ends 0 tackle limit reset slow alice --json
is "reset" "$(jq -c .reset <<<"$out")" true
ends 1 tackle limit reset slow alice
ends 0 tackle limit check slow alice --rate 1/1h

# Every algorithm, and no two on one key.
for algorithm in gcra bucket window window-approx concurrency; do
    for i in 2 1 0; do
        ends 0 tackle limit check $algorithm k --algorithm $algorithm --rate 3/10m --json
        is "$algorithm" "$(jq .remaining <<<"$out")" $i
    done
    ends 1 tackle limit check $algorithm k --algorithm $algorithm --rate 3/10m
    ends 1 tackle limit check $algorithm k --algorithm $algorithm --rate 3/10m --quantity 0
    has "$out" "nothing taken, 0 of 3 remain, the next fits in "
done
ends 70 tackle limit check gcra k --algorithm window --rate 3/10m
has "$err" "another algorithm"

# 30 in 60 seconds are 30 at once; a burst of 0 is none.
ends 0 tackle limit check plain k --rate 30/60s --quantity 30
ends 1 tackle limit check plain k --rate 30/60s
ends 0 tackle limit check even k --rate 30/60s --burst 0 --cell
is "no burst" "$out" "0 1 0 -1 2"
ends 64 tackle limit check even k --rate 30/60s --burst 0 --algorithm bucket
ends 64 tackle limit check even k --rate 30/60s --burst 3 --algorithm window

# Rates as people write them.
for rate in 30/60s 30/m 5/s 5/1s 1/30d 7/250ms 2/1.5h 3/10; do
    ends 0 tackle limit check "rate $rate" k --rate $rate
done
for rate in 0/s -3/s 30 30/ /s 5/0s 5/-1s 99999999999/s 5/99999d x/y 1.5/s 5/s/s ""; do
    ends 64 tackle limit check wrong k --rate="$rate"
    [ -n "$err" ] || fail "no word about --rate=$rate"
done
ends 64 tackle limit check wrong k
has "$err" "--rate"
ends 64 tackle limit check wrong k --rate 5/s --burst -1
ends 64 tackle limit check wrong k --rate 5/s --quantity -1
ends 64 tackle limit check wrong k --rate 5/s --algorithm sieve
ends 64 tackle limit check wrong k --rate 1/30d --burst 999999
has "$err" "exactly"

# The server's clock decides: clients an hour off count together.
at() { # at OFFSET COMMAND...; faketime(1) would leave files in /dev/shm when it is killed
    env LD_PRELOAD='/usr/$LIB/faketime/libfaketime.so.1' FAKETIME="$1" "${@:2}"
}
if [ -z "${TACKLE_SANITIZE-}" ] && [ "$(at +10000s date +%s)" -gt $(($(date +%s) + 5000)) ]; then
    for algorithm in gcra bucket window window-approx; do
        clock="limit check clocks $algorithm --algorithm $algorithm --rate 1/10m --json"
        ends 0 at +3600s tackle $clock
        ends 1 at -3600s tackle $clock
        ends 1 tackle $clock
        is "$algorithm" "$(jq '.retry_after_ms > 0 and .retry_after_ms <= 1200000' <<<"$out")" true
    done
fi

# Giving back.
ends 0 tackle limit check seats k --algorithm window --rate 1/1h --json
ticket=$(jq -r .ticket <<<"$out")
ends 1 tackle limit check seats k --algorithm window --rate 1/1h
ends 64 tackle limit refund seats k --algorithm window --rate 1/1h
has "$err" "ticket"
ends 0 tackle limit refund seats k --algorithm window --rate 1/1h --ticket "$ticket"
ends 1 tackle limit refund seats k --algorithm window --rate 1/1h --ticket "$ticket"
ends 0 tackle limit check seats k --algorithm window --rate 1/1h
ends 0 tackle limit check rows k --algorithm window --rate 4/1h --quantity 4 --json
ticket=$(jq -r .ticket <<<"$out")
for i in 1 2 3 4; do
    ends 0 tackle limit refund rows k --algorithm window --rate 4/1h --ticket "$ticket"
done
ends 1 tackle limit refund rows k --algorithm window --rate 4/1h --ticket "$ticket"

# Slots are renewed while they live.
slots="--algorithm concurrency --rate 2/1h"
ends 0 tackle limit check room k $slots --quantity 2 --json
ticket=$(jq -r .ticket <<<"$out")
ends 0 tackle limit renew room k $slots --quantity 2 --ticket "$ticket" --json
is "renewed" "$(jq -c .renewed <<<"$out")" true
ends 0 tackle limit refund room k $slots --quantity 2 --ticket "$ticket"
ends 1 tackle limit renew room k $slots --ticket "$ticket"
ends 64 tackle limit renew room k --algorithm window --rate 2/1h --ticket "$ticket"

# Several as one, each with its own rule.
ends 0 tackle limit all alice --quantity 3 minute=30/m,burst=4 day=5/d,algorithm=window
is "both" "$out" $'minute: allowed, 2 of 5 remain\nday: allowed, 2 of 5 remain, ticket '"${out##* }"
ends 0 tackle limit check day alice --rate 5/d --algorithm window --quantity 2
ends 1 tackle limit all alice minute=30/m,burst=4 day=5/d,algorithm=window --json
is "all or none" "$(jq -c 'map([.name, .allowed, .ticket])' <<<"$out")" \
    '[["minute",true,null],["day",false,null]]'
ends 0 tackle limit all bob minute=30/m day=1000/d --quantity 30 --json
is "the plain meaning" "$(jq -c 'map(.remaining)' <<<"$out")" '[0,970]'
ends 1 tackle limit all bob minute=30/m day=1000/d
ends 1 tackle limit all bob minute=30/m day=1000/d --quantity 0
has "$out" "minute: nothing taken, 0 of 30 remain, the next fits in "
has "$out" "day: nothing taken, 970 of 1000 remain"
for wrong in minute minute= =5/s minute=x minute=5/s,burst minute=5/s,burst=x minute=5/s,burst=-1 \
    minute=5/s,algorithm=sieve minute=5/s,speed=3 minute=5/s,; do
    ends 64 tackle limit all alice $wrong
done
ends 64 tackle limit all alice minute=5/s minute=5/s

# Waiting.
ends 0 tackle limit wait steady k --rate 10/s --burst 0
ends 0 tackle limit wait steady k --rate 10/s --burst 0 --in-order
ends 1 tackle limit wait slow alice --rate 1/1h --wait 1s --json
is "the answer" "$(jq .allowed <<<"$out")" false
ends 1 tackle limit wait slow alice --rate 1/1h --wait 10 --quantity 5
has "$out" "never fits"

# Running.
ends 7 tackle limit run jobs k --rate 10/s -- sh -c 'exit 7'
ends 0 tackle limit run jobs k --rate 10/s -- echo had
is "its output" "$out" had
ends 75 tackle limit run slow alice --rate 1/1h --wait 0 -- echo not
is "it did not run" "$out" ""
has "$err" "in time"
ends 127 tackle limit run given k --rate 1/1h -- /no/such/command
ends 0 tackle limit run given k --rate 1/1h -- true

# A slot is held while the command runs, and no longer.
ends 0 tackle limit run slots k --algorithm concurrency --rate 1/1m -- \
    sh -c '! tackle limit check slots k --algorithm concurrency --rate 1/1m'
ends 0 tackle limit run slots k --algorithm concurrency --rate 1/1m -- true
ends 0 tackle limit run short k --algorithm concurrency --rate 1/50ms -- sleep 0.3
has "$err" "too short"
tackle limit run slots k --algorithm concurrency --rate 1/1m -- \
    sh -c 'touch "$0/in"; until [ -e "$0/go" ]; do sleep 0.02; done' "$home" &
while [ ! -e "$home/in" ]; do sleep 0.02; done
ends 75 tackle limit run slots k --algorithm concurrency --rate 1/1m --wait 0 -- true
(sleep 0.3; touch "$home/go") &
ends 0 tackle limit run slots k --algorithm concurrency --rate 1/1m -- echo "its turn"
wait

# Limits that refused are listed by name; with --max, only those that refused most.
export TACKLE_NAMESPACE=refusing
for key in a a a b; do ends 1 tackle limit check worst "$key" --rate 1/1h --quantity 2; done
ends 1 tackle limit check best a --rate 1/1h --quantity 2
ends 0 tackle limit refused --json
is "by name" "$(jq -c '[.[].name]' <<<"$out")" '["best","worst"]'
ends 0 tackle limit refused --json --max 1
is "the worst" "$(jq -c '[.[] | [.name, .refused, .keys]]' <<<"$out")" \
    '[["worst",4,[{"key":"a","refused":3},{"key":"b","refused":1}]]]'
ends 64 tackle limit refused --max 0
unset TACKLE_NAMESPACE

# The permissions that the page names are enough.
become limits limit.md
for algorithm in gcra bucket window window-approx concurrency; do
    rule="--rate 5/h --algorithm $algorithm"
    ends 0 tackle limit check acl $algorithm $rule --json
    ticket=$(jq -r '.ticket // empty' <<<"$out")
    [ $algorithm = concurrency ] && ends 0 tackle limit renew acl $algorithm $rule --ticket "$ticket"
    ends 0 tackle limit refund acl $algorithm $rule ${ticket:+--ticket $ticket}
    ends 0 tackle limit check acl $algorithm $rule --quantity 5
    ends 1 tackle limit wait acl $algorithm $rule --wait 1ms
    ends 0 tackle limit reset acl $algorithm
done
ends 77 tackle call HGET x y

# Views for operators, and denied checks that count.
ends 0 tackle limit list --json
has "$out" '"slow"'
ends 0 tackle limit list slow
is "keys in use" "$(tail -n +2 <<<"$out")" "alice"
ends 0 tackle limit check seen 'a b' --rate 30/60s --burst 15 --quantity 4
ends 0 tackle limit show seen 'a b' --json
is "show" "$(jq -c 'del(.reset_after_ms, .last_at)' <<<"$out")" \
    '{"name":"seen","key":"a b","algorithm":"gcra","count":30,"period_ms":60000,"burst":15,"limit":16,"taken":4,"remaining":12,"next_after_ms":0,"takes":null}'
is "last" "$(jq -r .last_at <<<"$out" | cut -c 1-2)" 20
ends 0 tackle limit show seen 'a b'
has "$out" "12"
ends 1 tackle limit show seen nobody
ends 1 tackle limit show nosuch alice --json
is "not in use" "$(jq -r .error <<<"$err")" TKL_NOTFOUND
ends 0 tackle limit check login eve --rate 2/1h --algorithm window --count-denied
ends 1 tackle limit check login eve --rate 2/1h --algorithm window --count-denied --quantity 2
has "$out" "limited, 0 of 2 remain, fits in "
ends 0 tackle limit show login eve --json
is "what was taken when" "$(jq -c '[.takes[] | [.quantity, .denied]]' <<<"$out")" '[[2,true]]'
ends 0 tackle limit show login eve
has "$out" "TAKEN AT"
ends 64 tackle limit check login eve --rate 2/1h --algorithm concurrency --count-denied
has "$err" "held"

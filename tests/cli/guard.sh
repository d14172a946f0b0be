#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A `run` verb that was killed, or whose server hangs, leaves nothing behind: nothing runs beside the
# next holder, and the next holder need not wait.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/hold.bash"
start_server
trap 'kill -KILL $(jobs -p) 2>/dev/null; clean_up' EXIT

# A command that ignores SIGTERM, and writes down its number.
stubborn='trap "" TERM; echo $$ >"$0"; while :; do sleep 0.05; done'
# Prints whether the process of that file still runs: more than as a zombie.
look='if grep -q "^State:.[^ZX]" "/proc/$(cat "$0")/status" 2>/dev/null; then echo beside; else echo alone; fi'
killed() { { kill -KILL "$1" && wait "$1"; } 2>/dev/null; }

# start FILE COMPONENT ARG...: runs the stubborn command until it has written its number.
start() {
    local file=$1
    shift
    background tackle "$@" -- sh -c "$stubborn" "$file" &
    runner=$!
    eventually "$1 runs its command" test -s "$file"
}

# ---- A command that ignores SIGTERM ends before the lease does --------------------------------------

export TACKLE_NODES=$TACKLE_URL
slot='--algorithm concurrency --rate 1/4s'
lock='lock run job' sem='sem run job --limit 1' redlock='redlock run other'
limit="limit run job key $slot" queue='queue work jobs' renewed='lock run renewed'
ends 0 tackle queue push jobs x
runners=
for kind in lock sem redlock queue; do
    start "$home/$kind" ${!kind} --lease 4s --grace 1h
    runners+=" $runner"
done
start "$home/renewed" $renewed --lease 2s --grace 1h
sleep 3
gone "$(cat "$home/renewed")" && fail "ended while its lease was renewed"
runners+=" $runner"
start "$home/limit" $limit
kill -KILL $runners $runner
wait $runners $runner 2>/dev/null
queue+=' --once --wait 1m'
kinds="lock sem redlock queue renewed limit"
for kind in $kinds; do
    tackle ${!kind} -- sh -c "$look" "$home/$kind" >"$home/$kind.next" &
done
for kind in $kinds; do
    eventually "$kind has another holder" test -s "$home/$kind.next"
    is "the next holder of $kind is" "$(cat "$home/$kind.next")" alone
done

# A waiting worker that is handed a job has it for four seconds, until it confirms.
waits() { [ "$(tackle queue stats handed --json | jq .waiters)" = 1 ]; }
background tackle queue work handed --lease 10s --grace 1h -- sh -c "$stubborn" "$home/handed" &
runner=$!
eventually "it waits" waits
ends 0 tackle queue push handed x
eventually "it runs its command" test -s "$home/handed"
killed $runner
ends 0 tackle queue work handed --once --wait 1m -- sh -c "$look" "$home/handed"
is "the next worker is" "$out" alone

# ---- The next need not wait for the lease -----------------------------------------------------------

# So an hour ends soon, once the grace time is over.
for kind in "lock run long" "sem run long --limit 1" "redlock run long2"; do
    file=$home/${kind%% *}.long
    start "$file" $kind --lease 1h --grace 100ms
    killed $runner
    ends 0 tackle $kind -- sh -c "$look" "$file"
    is "$kind: the next is" "$out" alone
done

# A command that ends at SIGTERM needs no grace time, and all that it has started ends with it.
family='sleep 600 & echo $! >"$0"; wait'
for kind in "lock run family" "sem run family --limit 1"; do
    file=$home/${kind%% *}.family
    background tackle $kind --lease 1h --grace 1h -- sh -c "$family" "$file" &
    runner=$!
    eventually "it runs" test -s "$file"
    killed $runner
    ends 0 timeout 60 tackle $kind --lease 1h -- sh -c "$look" "$file"
    is "$kind: the next is" "$out" alone
done

slot='--algorithm concurrency --rate 1/1h'
background tackle limit run long key $slot -- sh -c 'echo $$ >"$0"; exec sleep 600' "$home/slot" &
runner=$!
eventually "it runs" test -s "$home/slot"
killed $runner
ends 0 tackle limit run long key $slot -- sh -c "$look" "$home/slot"
is "the next is" "$out" alone

# With the same namespace and the same server, whatever the environment says; names may be any.
url=$TACKLE_URL
TACKLE_URL=redis://127.0.0.1:1 start "$home/options" \
    lock --url "$url" --namespace mine run "a b" --lease 1h --grace 100ms
killed $runner
ends 0 tackle --namespace mine lock run "a b" --lease 1h -- echo mine
ends 0 tackle lock list --json
is "nothing else is held" "$(jq length <<<"$out")" 0

# ---- A server that hangs when the command ends ------------------------------------------------------

hung=$(tackle server status --json | jq .pid)
hang='kill -STOP "$0"; exit 7'
for kind in "lock run slow" "sem run slow --limit 1" "redlock run slow2 --node-timeout 10m" \
    "limit run slow key $slot"; do
    ends 7 timeout 60 tackle --timeout 10m $kind -- sh -c "$hang" "$hung"
    has "$err" " yet, it ends "
    kill -CONT "$hung"
    ends 0 timeout 60 tackle $kind -- echo "given back"
    is "$kind: in the end it was" "$out" "given back"
done
echo "guard: all good"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle lock run`: a command that has the lock while it runs, and not a moment longer.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/hold.bash"
start_server

free() { ! tackle lock show "$1" >/dev/null 2>&1; }
waiting() { [ "$(tackle lock show "$1" --json | jq .waiters)" = "$2" ]; }
is_free() { free "$1" || fail "$1 is held"; }

# A command that has a child of its own, and writes down both numbers.
family='echo $$ >"$0.parent"; sh -c "echo \$\$ >\"\$0\"; exec sleep 600" "$0.child"; exit 1'
start_family() { # FILE OPTION...
    local file=$1
    shift
    rm -f "$file".*
    background tackle lock run family "$@" -- sh -c "$family" "$file" &
    runner=$!
    eventually "the command runs" test -s "$file.child"
}
family_is_gone() {
    eventually "the command ends" gone "$(cat "$1.parent")"
    eventually "its child ends" gone "$(cat "$1.child")"
}

# ---- The command is as it would be without us -----------------------------------------------------

ends 0 tackle lock run door -- echo hello
is "its output" "$out" hello
is "and nothing else" "$err" ""
ends 3 tackle lock run door -- sh -c 'echo oops >&2; exit 3'
is "its complaints" "$err" oops
for code in 1 64 69 75 76 255; do
    ends $code tackle lock run door -- sh -c "exit $code"
done
ends 143 tackle lock run door -- sh -c 'kill -TERM $$'
ends 137 tackle lock run door -- sh -c 'kill -KILL $$'
ends 134 tackle lock run door -- sh -c 'ulimit -c 0; kill -ABRT $$'
ends 127 tackle lock run door -- /nonexistent/command
ends 127 tackle lock run door -- no-such-command-anywhere
ends 126 tackle lock run door -- "$home"
is "input" "$(printf 'a\nb\n' | tackle lock run door -- cat)" $'a\nb'
is "large input" "$(head -c 3000000 /dev/zero | tackle lock run door -- wc -c)" 3000000
ends 0 tackle lock run door -- printf '<%s>' --json -- -x ''
is "its arguments" "$out" "<--json><--><-x><>"
ends 0 setsid -w tackle lock run door -- echo "without a terminal"
is "works without a terminal" "$out" "without a terminal"
is_free door

# ---- Environment of the command -------------------------------------------------------------------

ends 0 env TACKLE_FENCE=1 tackle lock run "some door" -- \
    sh -c 'tackle lock show "$TACKLE_LOCK" --json; echo "$TACKLE_TOKEN $TACKLE_FENCE"'
read -r token fence <<<"${out##*$'\n'}"
out=${out%%$'\n'*}
yields '[.name, .held, .holders[0].fence, .holders[0].label]' "[\"some door\",1,$fence,\"sh\"]"
[[ $token =~ ^[0-9a-f]{32}$ ]] || fail "token: $token"
long=$home/$(printf '%0200d' 0)/$(printf '%0200d' 0)
mkdir "${long%/*}"
printf '#!/bin/sh\ntackle lock show door --json' >"$long" && chmod +x "$long"
ends 0 tackle lock run door -- "$long"
yields '.holders[0].label | length' 256
ends 0 tackle lock run door --label night --lease 1h -- tackle lock show door --json
yields '[.holders[0].label, .holders[0].left_ms > 3000000]' '["night",true]'
ends 0 tackle lock run door --shared -- tackle lock run door --shared --wait 0 -- echo both
is "readers together" "$out" both

# The command can release the lock itself; tackle then reports that it is not held at the end.
ends 76 tackle lock run door -- sh -c 'tackle lock release "$TACKLE_LOCK" "$TACKLE_TOKEN"'
has "$err" "lost door"
ends 5 tackle lock run door --on-lost warn -- \
    sh -c 'tackle lock release "$TACKLE_LOCK" "$TACKLE_TOKEN"; exit 5'
has "$err" "lost door"

# ---- Waiting --------------------------------------------------------------------------------------

ends 0 tackle lock acquire door --lease 1h --json
token=$(jq -r .token <<<"$out")
ends 75 tackle lock run door --wait 0 -- touch "$home/ran"
has "$err" "tackle: lock run: held by $(uname -n), pid "
ends 75 tackle lock run door --wait 100ms -- touch "$home/ran"
[ ! -e "$home/ran" ] || fail "ran without the lock"

# In order of arrival.
for i in 1 2 3; do
    tackle lock run door -- sh -c "echo $i >>$home/order" &
    eventually "waiter $i" waiting door $i
done
ends 0 tackle lock release door "$token"
wait
is "order" "$(tr '\n' ' ' <"$home/order")" "1 2 3 "
is_free door

# A signal ends the wait and leaves nothing in the line.
ends 0 tackle lock acquire door --lease 1h --json
token=$(jq -r .token <<<"$out")
for signal in INT TERM HUP QUIT; do
    background sh -c 'ulimit -c 0; exec "$@"' - tackle lock run door -- touch "$home/ran" &
    runner=$!
    eventually "it waits" waiting door 1
    kill -$signal $runner
    ended $runner $((128 + $(kill -l $signal)))
    is "waiters" "$(tackle lock show door --json | jq .waiters)" 0
done
background tackle lock acquire door --wait 1h &
runner=$!
eventually "acquire waits" waiting door 1
kill -INT $runner
ended $runner 130
is "waiters" "$(tackle lock show door --json | jq .waiters)" 0
[ ! -e "$home/ran" ] || fail "ran without the lock"

# A command that is not to be interrupted is not.
nohup tackle lock run door -- touch "$home/ran" >/dev/null 2>&1 &
runner=$!
eventually "it waits" waiting door 1
kill -HUP $runner
ends 0 tackle lock release door "$token"
ended $runner 0
[ -e "$home/ran" ] || fail "a signal that was to be ignored was not"

# A waiter that was killed is passed over.
ends 0 tackle lock acquire door --lease 1h --json
token=$(jq -r .token <<<"$out")
tackle lock run door -- touch "$home/killed" &
runner=$!
eventually "it waits" waiting door 1
{ kill -KILL $runner && wait $runner; } 2>/dev/null
tackle lock run door -- touch "$home/next" &
runner=$!
eventually "the next waits" waiting door 2
ends 0 tackle lock release door "$token"
ended $runner 0
[ -e "$home/next" ] && [ ! -e "$home/killed" ] || fail "the dead ran"

# ---- Signals go to all that the command has started -----------------------------------------------

for signal in INT TERM HUP; do
    start_family "$home/$signal"
    kill -$signal $runner
    ended $runner $((128 + $(kill -l $signal)))
    family_is_gone "$home/$signal"
    is_free family
done

# The command decides what a signal means.
background tackle lock run door -- sh -c \
    'trap "echo caught; exit 9" USR1; echo >"$0"; while :; do sleep 0.05; done' \
    "$home/ready" >"$home/said" 2>/dev/null &
runner=$!
eventually "it is ready" test -e "$home/ready"
kill -USR1 $runner
ended $runner 9
is "it said" "$(cat "$home/said")" caught

# ---- Losing the lock ------------------------------------------------------------------------------

# The command and all it started are ended.
start_family "$home/lost" --lease 1h 2>"$home/complaint"
ends 0 tackle lock break family
ended $runner 76
family_is_gone "$home/lost"
has "$(cat "$home/complaint")" "lost family: ending the command"

# They are ended also when they ignore SIGTERM.
tackle lock run stubborn --lease 1h --grace 100ms -- sh -c \
    'trap "" TERM; echo $$ >"$0"; while :; do sleep 0.05; done' "$home/stubborn" 2>/dev/null &
runner=$!
eventually "it runs" test -s "$home/stubborn"
ends 0 tackle lock break stubborn
ended $runner 76
gone "$(cat "$home/stubborn")" || fail "the command goes on"

# During the grace time the command can clean up.
tackle lock run tidy --lease 1h -- sh -c \
    'trap "echo tidied >$0.done; exit 0" TERM; echo >"$0"; while :; do sleep 0.05; done' \
    "$home/tidy" 2>/dev/null &
runner=$!
eventually "it runs" test -e "$home/tidy"
ends 0 tackle lock break tidy
ended $runner 76
is "it tidied up" "$(cat "$home/tidy.done")" tidied

# With --on-lost warn it goes on, and its exit code counts.
tackle lock run warned --lease 1h --on-lost warn -- sh -c \
    'echo >"$0"; until [ -e "$0.go" ]; do sleep 0.05; done; exit 4' \
    "$home/warned" 2>"$home/complaint" &
runner=$!
eventually "it runs" test -e "$home/warned"
ends 0 tackle lock break warned
eventually "it warns" grep -q "lost warned: the command goes on without it" "$home/complaint"
ends 0 tackle lock acquire warned --lease 1h
touch "$home/warned.go"
ended $runner 4
is "somebody else's is left alone" "$(tackle lock show warned --json | jq .held)" 1

# Losing the server is losing the lock, when the lease is over.
url=$TACKLE_URL
export TACKLE_URL=embedded:$home/other?durability=none
tackle server start >/dev/null
start_family "$home/alone" --lease 3s 2>/dev/null
tackle server stop >/dev/null
ended $runner 76
family_is_gone "$home/alone"

# A lost lock is not released: tackle does not wait for a server that is gone, with any time-out.
tackle server start >/dev/null
background tackle --timeout 10m lock run family --lease 2s -- sh -c 'echo $$ >"$0"; exec sleep 600' \
    "$home/linger" 2>/dev/null &
runner=$!
eventually "it runs" test -s "$home/linger"
hung=$(tackle server status --json | jq .pid)
kill -STOP "$hung"
ended $runner 76
kill -CONT "$hung"
tackle server stop >/dev/null
export TACKLE_URL=$url

# ---- Holding on -----------------------------------------------------------------------------------

# The lease is renewed while the command runs, so the command may outlive a lease.
ends 0 tackle lock run long --lease 4s -- sh -c \
    'sleep 5; tackle lock show long --json | jq -r ".held, .holders[0].fence"; echo $TACKLE_FENCE'
read -r -d '' held fence mine <<<"$out"
is "held" "$held" 1
is "by the same" "$fence" "$mine"

# kill -9 of tackle: the command and its children end, too; the lock ends with its lease.
start_family "$home/orphans" --lease 3s
{ kill -KILL $runner && wait $runner; } 2>/dev/null
family_is_gone "$home/orphans"
eventually "the lease ends" free family

# A tackle that was stopped past its lease finds out, and ends the command.
start_family "$home/stopped" --lease 1s 2>/dev/null
kill -STOP $runner
eventually "the lease ends" free family
ends 0 tackle lock acquire family --lease 1h --json
token=$(jq -r .token <<<"$out")
kill -CONT $runner
ended $runner 76
family_is_gone "$home/stopped"
ends 0 tackle lock release family "$token"
echo "lock run: all good"

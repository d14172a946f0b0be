#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle service`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

# Waits until the command prints this.
prints() {
    local expected=$1
    shift
    for _ in $(seq 300); do
        [ "$("$@" 2>/dev/null)" = "$expected" ] && return
        sleep 0.05
    done
    fail "$* never printed $expected, but $("$@" 2>&1)"
}

is "nobody" "$(tackle service list shop --json)" "[]"
ends 1 tackle service pick shop
ends 0 tackle service register shop --address h:1 --meta zone=b --meta x= --weight 3 -- \
    tackle service list shop --json
is "while it runs" "$(jq -c '.[] | [.id, .address, .weight, .meta]' <<<"$out")" \
    '["h:1","h:1",3,{"zone":"b","x":""}]'
is "afterwards" "$(tackle service list shop --json)" "[]"
ends 7 tackle service register shop --address h:1 -- sh -c 'exit 7'
ends 127 tackle service register shop --address h:1 -- no-such-command
is "not listed" "$(tackle service list shop --json)" "[]"

# Until a signal comes.
tackle service register shop --address h:2 --id two --lease 2s --json >"$home/registered" &
pid=$!
prints h:2 tackle service pick shop --by weight
is "registered" "$(jq -c . "$home/registered")" '{"name":"shop","id":"two","address":"h:2"}'
is "services" "$(tackle service list --json)" '[{"name": "shop"}]'
tackle service watch shop --max 2 >"$home/watched" &
watcher=$!
prints "h:2" cat "$home/watched"
kill -TERM $pid
wait $pid
is "dies of the signal" $? 143
wait $watcher
is "the watcher heard of it" "$(cat "$home/watched")" $'h:2\n(none)'

# An instance that was killed goes with its lease. One that is replaced reports it.
tackle service register shop --address h:3 --lease 500ms >/dev/null &
pid=$!
prints h:3 tackle service pick shop
kill -KILL $pid
prints "[]" tackle service list shop --json
tackle service register shop --address h:4 --lease 500ms >/dev/null 2>"$home/err" &
pid=$!
prints h:4 tackle service pick shop
ends 0 tackle service register shop --address h:4 --lease 1m -- sh -c "while kill -0 $pid; do sleep 0.1; done 2>/dev/null"
wait $pid
is "replaced" $? 76
has "$(cat "$home/err")" "another program"

# A signal for the command.
tackle service register shop --address h:5 -- sleep 60 &
pid=$!
prints h:5 tackle service pick shop
kill -TERM $pid
wait $pid
is "the command died" $? 143
is "not listed any more" "$(tackle service list shop --json)" "[]"

ends 1 tackle service watch shop --wait 50ms
is "what was there" "$out" "(none)"
ends 64 tackle service register shop
ends 64 tackle service register shop --address a --meta x
ends 64 tackle service register shop --address a --lease 10m
ends 64 tackle service register shop extra --address a
ends 64 tackle service register shop --address a --weight -1
ends 69 tackle --url redis://127.0.0.1:1 service register shop --address a

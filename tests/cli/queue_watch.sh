#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `queue watch`: lines and JSON as events happen, its end, and users who may not watch.
. "$(dirname "$0")/lib.bash"
start_server

# watching [OPTION...]: watches mails in the background, and returns when it has begun.
watching() {
    tackle queue watch mails "$@" >"$home/events" 2>"$home/watch_err" &
    pid=$!
    for _ in $(seq 200); do
        [ "$(tackle call PUBSUB SHARDNUMSUB 'tackle:queue:{mails}:meta' | tail -n 1)" = 1 ] &&
            [ "$(tackle call HEXISTS 'tackle:queue:{mails}:meta' watched)" = 1 ] && return
        sleep 0.05
    done
    fail "does not watch: $(cat "$home/watch_err")"
}

ends 1 tackle queue watch mails
has "$err" "mails"
ends 0 tackle queue push mails before
watching --max 4
ends 0 tackle queue push mails a b
ends 1 tackle queue work mails --once -- false
wait "$pid" || fail "watch ended with $?"
is "events" "$(awk '{ print $2 }' "$home/events" | xargs)" "pushed pushed claimed failed"
has "$(tail -n 1 "$home/events")" "exit code 1"
[[ $(head -n 1 "$home/events") =~ ^20[0-9]{2}-[0-9-]+T[0-9:.]+Z\ \ pushed ]] || fail "$(cat "$home/events")"

ends 0 tackle call HDEL 'tackle:queue:{mails}:meta' watched
watching --max 2 --json
ends 0 tackle queue push mails c
ends 0 tackle queue pause mails
wait "$pid" || fail "watch ended with $?"
is "as JSON" "$(jq -c '[.event, (.id | type), .note]' "$home/events" | xargs)" \
    '[pushed,string,null] [paused,null,null]'

ends 1 tackle queue watch mails --wait 10ms
ends 64 tackle queue watch mails --max 0
ends 64 tackle queue watch
ends 69 tackle --url redis://127.0.0.1:1 queue watch mails
become operator operators.md
ends 77 tackle queue watch mails --wait 1s
echo "queue watch: all good"

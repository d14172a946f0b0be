#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle status`: every part, parts that cannot be read, servers that do not answer.
. "$(dirname "$0")/lib.bash"
start_server

ends 0 tackle status --json
is "nothing yet" "$(jq -c '[.queues, .locks, .semaphores, .leaders, .services, .files, .indexes]' <<<"$out")" \
    '[[],[],[],[],[],[],[]]'
is "a master" "$(jq -r .server.role <<<"$out")" master

ends 0 tackle queue push mails a b c
ends 0 tackle queue push wide x --partitions 4
ends 0 tackle lock acquire deploy --lease 1h --label nightly
ends 0 tackle sem acquire crawlers --limit 5 --lease 1h
ends 0 tackle search create docs
ends 0 tackle status --json
is "queues" "$(jq -c '[.queues[] | [.name, .ready]]' <<<"$out")" '[["mails",3],["wide",1]]'
is "locks" "$(jq -c '[.locks[] | [.name, .held, .waiters, .label]]' <<<"$out")" '[["deploy",1,0,"nightly"]]'
is "permits" "$(jq -c '[.semaphores[] | [.name, .held, .limit]]' <<<"$out")" '[["crawlers",1,5]]'
is "indexes" "$(jq -c '[.indexes[] | [.name, .documents]]' <<<"$out")" '[["docs",0]]'
ends 0 tackle status
has "$out" "Queues"
has "$out" "nightly"
is "no walk" "$(tackle call INFO commandstats | grep -c cmdstat_scan)" 0

# A damaged queue is one row with an error, not the end of the others.
ends 0 tackle call DEL 'tackle:queue:{mails}:ready'
ends 0 tackle call SET 'tackle:queue:{mails}:ready' x
ends 0 tackle status --json
is "one error" "$(jq -c '[.queues[] | [.name, .error]]' <<<"$out")" '[["mails","TKL_ETYPE"],["wide",null]]'

# A user who may only see locks still sees the locks.
ends 0 tackle server functions --load
socket=$(tackle server status --json | jq -r .socket)
ends 0 tackle call ACL SETUSER guest on '>pw' '~tackle:lock:*' '&*' +ping +@read +fcall_ro +time +pubsub
for user in "unix://guest@$socket"; do
    TACKLE_PASSWORD=pw tackle --url "$user" status --json >"$home/guest" || fail "a guest's status"
    is "locks for a guest" "$(jq -c '[.locks[].name]' "$home/guest")" '["deploy"]'
    is "no server for a guest" "$(jq -r .server.error "$home/guest")" TKL_EAUTH
    is "no queues for a guest" "$(jq -c '[.queues[].error] | unique' "$home/guest")" '["TKL_EAUTH"]'
    TACKLE_PASSWORD=pw tackle --url "$user" status >"$home/guest" || fail "a guest's screen"
    has "$(cat "$home/guest")" "not known: NOPERM"
done

ends 64 tackle status now
ends 69 tackle --url redis://127.0.0.1:1 status

# The documented user who may only look sees all, and changes nothing.
ends 0 tackle service list
become operator operators.md
ends 0 tackle status --json
is "all parts" "$(jq -c '[.. | .error? | strings] | unique' <<<"$out")" '["TKL_ETYPE"]'
is "the locks" "$(jq -c '[.locks[].name]' <<<"$out")" '["deploy"]'
for verb in "workers wide" "times wide" "why wide" "peek wide --state active"; do
    ends 0 tackle queue $verb --partitions 4
done
ends 77 tackle lock break deploy
ends 77 tackle queue push wide y
echo "status: all good"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tackle serve: requests with an Idempotency-Key are executed once.
. "$(dirname "$0")/lib.bash"
start_server
printf 'ann ann-0123456789abcdef write\nbob bob-0123456789abcdef write\n' >"$home/tokens"
chmod 600 "$home/tokens"
serve --token-file "$home/tokens" --idempotency-life 10m

# keyed KEY PATH FIELDS [TOKEN]: as ann, unless it says otherwise.
keyed() {
    call "$2" "$3" -H "Idempotency-Key: $1" -H "Authorization: Bearer ${4:-ann}-0123456789abcdef"
}
replayed() { grep -qi 'Idempotency-Replayed: true' "$home/head"; }

# ---- Repeats --------------------------------------------------------------------------------------

keyed k1 /v1/queue/push '{"name": "q", "payload": ["a", "b"]}'
is "pushed" "$status" 200
replayed && fail "the first answer is not a repeat"
first=$body
keyed k1 /v1/queue/push '{"payload": ["a", "b"], "name": "q"}'
is "the same answer, whatever the order of the fields" "$status $body" "200 $first"
replayed || fail "the repeat says so"
is "pushed once" "$(tackle --json queue stats q | jq .ready)" 2

keyed k2 /v1/mail/send '{"name": "ann", "body": "hello"}'
first=$body
keyed k2 /v1/mail/send '{"name": "ann", "body": "hello"}'
is "the same answer" "$status $body" "200 $first"
is "sent once" "$(tackle --json mail show ann | jq .unread)" 1
keyed k3 /v1/counter/add '{"name": "hits"}'
keyed k3 /v1/counter/add '{"name": "hits"}'
is "counted once" "$(tackle --json counter series hits --every 1h | jq '[.[].counts[]] | add')" 1

# Another key, another caller: another request.
keyed k4 /v1/queue/push '{"name": "q", "payload": ["a", "b"]}'
keyed k1 /v1/queue/push '{"name": "q", "payload": ["a", "b"]}' bob
is "pushed" "$status" 200
is "six jobs" "$(tackle --json queue stats q | jq .ready)" 6

# Another request under the same key.
keyed k1 /v1/queue/push '{"name": "q", "payload": ["a", "c"]}'
is "another body" "$status" 422
keyed k1 /v1/mail/send '{"name": "ann", "body": "hello"}'
is "another verb" "$status" 422
is "nothing was pushed" "$(tackle --json queue stats q | jq .ready)" 6

# Repeats at once: one is executed, the others get its answer.
for i in 1 2 3 4 5 6 7 8; do
    curl -s -d '{"name": "crowd", "payload": "x"}' -H 'Idempotency-Key: crowd' \
        -H 'Authorization: Bearer ann-0123456789abcdef' "$base/v1/queue/push" >"$home/crowd$i" &
    crowd[i]=$!
done
wait "${crowd[@]}"
is "one answer" "$(cat "$home"/crowd? | jq -c .ids | sort -u | wc -l)" 1
is "one job" "$(tackle --json queue stats crowd | jq .ready)" 1

# ---- What is not kept -----------------------------------------------------------------------------

# An answer that says that nothing was done: the repeat may succeed.
keyed k5 /v1/chat/send '{"name": "room", "sender": "ann", "body": "hello"}'
is "no such chat" "$status" 404
tackle chat create room ann bob >/dev/null
keyed k5 /v1/chat/send '{"name": "room", "sender": "ann", "body": "hello"}'
is "sent" "$status" 200
keyed k6 /v1/queue/push '{"name": "q"}'
is "wrong" "$status" 400
keyed k6 /v1/queue/push '{"name": "q", "payload": "d"}'
is "right" "$status" 200

# The answer is lost after the execution, as by kill -9: a repeat does not push again.
keyed k7 /v1/queue/push '{"name": "gap", "payload": "x"}'
first=$body
for key in $(tackle cache list | grep '^idempotency:'); do
    tackle cache drop "$key" --yes >/dev/null || fail "not dropped: $key"
done
keyed k7 /v1/queue/push '{"name": "gap", "payload": "x"}'
is "the same job" "$(field .ids[0])" "$(jq -r .ids[0] <<<"$first")"
is "one job" "$(tackle --json queue stats gap | jq .ready)" 1

# A server that hangs: the outcome is unknown, and the repeat finds out.
pid=$(tackle --json server status | jq -r .pid)
kill -STOP "$pid"
keyed k8 /v1/queue/push '{"name": "hang", "payload": "x"}'
kill -CONT "$pid"
[[ $status == 50[34] ]] || fail "a server that hangs: $status $body"
settled() { keyed k8 /v1/queue/push '{"name": "hang", "payload": "x"}' && [ "$status" = 200 ]; }
eventually settled
is "one job" "$(tackle --json queue stats hang | jq .ready)" 1

# ---- Wrong keys -----------------------------------------------------------------------------------

keyed "$(printf 'x%.0s' {1..255})" /v1/queue/push '{"name": "q", "payload": "e"}'
is "a long key" "$status" 200
keyed "$(printf 'x%.0s' {1..256})" /v1/queue/push '{"name": "q", "payload": "e"}'
is "too long" "$status" 400
keyed k9 /v1/lock/acquire '{"name": "door"}'
is "what is held is not added" "$status" 400
keyed k9 /v1/batch '[]'
is "batches have none" "$status" 400

# Nothing is kept for ever.
kept=0
for key in $(tackle call --raw KEYS '*idempotency*'); do
    left=$(tackle call --raw PTTL "$key")
    [ "$left" -gt 0 ] && [ "$left" -le 660000 ] || fail "$key stays for $left ms"
    kept=$((kept + 1))
done
[ "$kept" -ge 3 ] || fail "only $kept keys were looked at"
unserve

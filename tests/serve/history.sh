#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The history of queues: one of several servers writes it, everything is counted once, and a week of a
# queue is small.
. "$(dirname "$0")/lib.bash"

start_server

# total FIELD: the sum of a field in the history of the queue, as far as it is known.
total() {
    call /history '{"name": "mails"}'
    field "[.$1[] | . // 0] | add // 0"
}
has_pushed() { [ "$(total pushed)" = "$1" ]; }
read_at() { call /history '{"name": "mails"}' && field .read_at; }
has_read() { [ "$(read_at)" != "$1" ] && [ "$(read_at)" != null ]; }
# Waits for a reading that has begun after this moment: the second one that ends.
reads() {
    eventually has_read "$(read_at)"
    eventually has_read "$(read_at)"
}

serve --history 100ms
first=$server first_log=$log
answers 200 /history '{"name": "mails"}'
is "nothing is known" "$(field '.pushed | length')" 0
answers 400 /history '{"queue": "mails"}'
answers 400 /history '{"name": "mails", "more": 1}'
answers 405 '/history?name=mails'

# The history of a queue begins when it is seen first.
tackle queue push mails first >/dev/null
reads
tackle queue push mails a b c >/dev/null
eventually has_pushed 3
tackle queue work mails --drain -- true
has_done() { [ "$(total done)" = 4 ] && [ "$(total failed)" = 0 ]; }
eventually has_done
call /history '{"name": "mails"}'
is "every attempt took some time" "$(field '[.run_ms[] | select(. != null)] | .[0] > 0')" true
is "half hours" "$(field .every_ms)" 1800000
is "seven days" "$(field '.pushed | length')" 337

# Users do not see the counters.
is "counters" "$(tackle counter list --json)" "[]"
is "leaders" "$(tackle leader list --json)" "[]"

# Another server counts nothing twice, and goes on when the first one ends.
kept=$home/serve.first.log
cp "$first_log" "$kept"
serve --history 100ms
second=$server
tackle queue push mails d e >/dev/null
eventually has_pushed 5
kill -TERM "$first"
wait "$first" || fail "the first server ended with $?"
server=$second
reads
tackle queue push mails f >/dev/null
eventually has_pushed 6
unserve

# A server that may only read writes nothing.
serve --history 50ms --read-only
tackle queue push mails g >/dev/null
sleep 0.3
is "read only" "$(total pushed)" 6
call /history '{"name": "mails"}'
is "nothing is read" "$(field .read_at)" null
unserve

# ---- A week of a busy queue is at most 200 KB, however the server stores it ----------------------

tackle call CONFIG SET hash-max-listpack-entries 0 >/dev/null
for ((i = 0; i < 336; i++)); do
    echo "[$(date -u -d "-$((i * 30)) min" +%d/%b/%Y:%T) +0000] $((1234567890 + i))"
done >"$home/lines"
bytes=0
for metric in pushed done failed claimed wait_us run_us; do
    tackle counter drop "$metric:mails" --yes --namespace tackle:dashboard >/dev/null 2>&1 || true
    tackle counter add "$metric:mails" --every 30m --samples 337 --lines --namespace tackle:dashboard \
        <"$home/lines" >/dev/null
    bytes=$((bytes + $(tackle call MEMORY USAGE "tackle:dashboard:counter:{$metric:mails}" SAMPLES 0 --json)))
done
[ "$bytes" -gt 100000 ] && [ "$bytes" -le 204800 ] || fail "a week takes $bytes bytes"
serve
is "it is read" "$(total pushed)" "$(awk '{ sum += $3 } END { printf "%.0f", sum }' "$home/lines")"
unserve

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tackle serve as callers see it: routes, statuses, waits, rights, and its end.
. "$(dirname "$0")/lib.bash"
start_server
serve

# ---- Calls ----------------------------------------------------------------------------------------

answers 200 /healthz
is "health" "$(field .status)" ok
answers 200 /readyz
answers 200 /v1/queue/push '{"name": "mails", "payload": ["a", "b"], "delay": "5m", "priority": -5}'
is "pushed" "$(field '.ids | length')" 2
answers 200 '/v1/queue/stats?name=mails'
is "the command sees the same" "$body" "$(tackle --json queue stats mails)"
is "delayed" "$(field .delayed)" 2
answers 200 /v1/queue/stats '{"name": "mails"}'
answers 200 '/v1/text/fold?text=AB&text=%C3%9F'
answers 200 '/v1/online/count?name=v&any'
answers 405 '/v1/queue/push?name=mails'
answers 405 /v1/queue/push -X DELETE
answers 405 '/v1/session/check?token=secret' # no secrets in URLs
answers 400 '/v1/queue/push?name=mails' '{"payload": "a"}' # fields of a POST are in its body
answers 400 '/v1/queue/stats?%ff=1&name=mails'
answers 400 '/v1/queue/stats?name=mails&name=others'
is "field" "$(field .field)" name
answers 200 /healthz -I
answers 200 /readyz -I
answers 405 '/v1/queue/stats?name=mails' -I
answers 404 /v1/queue/work '{}'
has "$body" "not over HTTP: it runs a command"
answers 404 /v1/call '{"arg": "FLUSHALL"}'
answers 404 /v1/nothing '{}'
answers 404 /nothing.html

# Bytes, in and out.
answers 200 /v1/queue/push '{"name": {"base64": "/wE="}, "payload": {"base64": "AAEC/w=="}}'
answers 200 /v1/queue/claim '{"name": {"base64": "/wE="}}'
is "payload" "$(field .payload.base64)" "AAEC/w=="
answers 200 '/v1/queue/stats?name=%FF%01'
is "claimed" "$(field .active)" 1
answers 400 /v1/queue/push '{"name": "a\u0000b", "payload": "x"}'
answers 200 /v1/config/set '{"kind": "k", "component": "c", "json": {"a": [1, 2.5]}}'
answers 200 '/v1/config/get?kind=k&component=c'
is "config" "$(field '.value | tojson')" '{"a":[1,2.5]}'

# Nothing of the process is within reach: words that mean files or standard input are words.
answers 200 /v1/queue/push '{"name": "words", "payload": "-"}'
answers 200 /v1/queue/claim '{"name": "words"}'
is "a dash" "$(field .payload)" -
answers 404 /v1/session/check '{"token": "@/etc/passwd"}'
lacks "$body" root
answers 200 /v1/log/write '{"name": "l", "severity": "info", "message": "-"}'
answers 400 /v1/log/write '{"name": "l", "severity": "-"}'
answers 400 /v1/queue/push '{"name": "words"}'
is "field" "$(field .field)" payload
answers 400 /v1/unique/add '{"name": "u"}'
is "field" "$(field .field)" item
answers 400 /v1/queue/drop '{"name": "words"}'
is "field" "$(field .field)" yes
answers 200 /v1/queue/drop '{"name": "words", "yes": true}'

# ---- Statuses -------------------------------------------------------------------------------------

answers 200 /v1/lock/acquire '{"name": "door", "lease": "60s"}'
token=$(field .token)
answers 409 /v1/lock/acquire '{"name": "door"}'
is "error" "$(field .error)" TKL_BUSY
answers 200 /v1/lock/renew "{\"name\": \"door\", \"token\": \"$token\", \"lease\": 30}"
answers 409 /v1/lock/release '{"name": "door", "token": "0123456789abcdef0123456789abcdef"}'
is "error" "$(field .error)" TKL_NOTOWNER
answers 404 /v1/queue/claim '{"name": "empty"}'
is "error" "$(field .error)" TKL_EMPTY
answers 200 /v1/limit/check '{"name": "api", "key": "ann", "rate": "1/h"}'
has "$(cat "$home/head")" "RateLimit-Remaining: 0"
answers 429 /v1/limit/check '{"name": "api", "key": "ann", "rate": "1/h"}'
has "$(cat "$home/head")" "Retry-After: 3600"
has "$(cat "$home/head")" "RateLimit-Limit: 1"
is "the answer is there all the same" "$(field .result.allowed)" false
answers 400 /v1/limit/check '{"name": "api", "key": "ann", "rate": "x"}'
is "field" "$(field .field)" rate
answers 400 /v1/lock/acquire '{"name": "x", "lease": "5x"}'
is "field" "$(field .field)" lease
lacks "$(field .message)" --
answers 400 /v1/lock/acquire '{"name": "x", "leas": "5s"}'
has "$(field .message)" "did you mean 'lease'"
# Messages of the library know no fields: their names, quotes and sizes show which field is wrong.
wrong() { answers 400 "$2" "$3"; is "the field of: $(field .message)" "$(field .field)" "$1"; }
long=$(head -c 70000 /dev/zero | tr '\0' x)
wrong name /v1/queue/push '{"name": "", "payload": "x"}'
wrong name /v1/lock/acquire "{\"name\": \"$long\"}"
wrong label /v1/lock/acquire "{\"name\": \"x\", \"label\": \"$long\"}"
wrong kind /v1/queue/push '{"name": "q", "payload": "x", "kind": "a b"}'
wrong day /v1/online/mark '{"name": "v", "user": "ann", "day": "never"}'
wrong address /v1/ip/lookup '{"table": "t", "address": "1.2.3"}'
wrong zone /v1/cron '{"expression": "0 5 * * *", "zone": "../../../etc/passwd"}'
wrong keep /v1/lock/acquire '{"name": "x", "keep": 1}'
answers 200 /v1/lock/acquire '{"name": "nulls", "label": null, "keep": null}' # null is absent

# ---- Waits ----------------------------------------------------------------------------------------

# A wait ends with a hand-over.
curl -s -d '{"name": "door", "wait": "60s"}' "$base/v1/lock/acquire" >"$home/waiter" &
waiter=$!
eventually sh -c 'tackle --json lock show door | jq -e ".waiters == 1"'
answers 200 /v1/lock/release "{\"name\": \"door\", \"token\": \"$token\"}"
wait "$waiter"
token=$(jq -r .token "$home/waiter")
is "the waiter holds it" "$(jq -r .name "$home/waiter")" door

# A client that goes away leaves the line.
curl -s -d '{"name": "door", "wait": "60s"}' "$base/v1/lock/acquire" >/dev/null &
waiter=$!
eventually sh -c 'tackle --json lock show door | jq -e ".waiters == 1"'
kill "$waiter"
eventually sh -c 'tackle --json lock show door | jq -e ".waiters == 0"'
answers 200 /v1/lock/release "{\"name\": \"door\", \"token\": \"$token\"}"
eventually sh -c '! tackle lock show door 2>/dev/null'

# A job that is given to a client at the moment in which it goes away is not lost.
waiting() { call /metrics && grep -qx "tackle_serve_calls_waiting $1" <<<"$body"; }
for i in 1 2 3 4 5; do
    curl -s -d '{"name": "jobs", "wait": "60s", "lease": "1s"}' "$base/v1/queue/claim" >/dev/null &
    waiter=$!
    eventually waiting 1
    tackle queue push jobs "job $i" >/dev/null &
    sleep 0.0$i
    kill "$waiter" 2>/dev/null
    eventually waiting 0
    answers 200 /v1/queue/claim '{"name": "jobs", "wait": "60s"}'
    is "the job" "$(field .payload)" "job $i"
    answers 200 /v1/queue/ack "{\"name\": \"jobs\", \"id\": \"$(field .id)\", \"token\": \"$(field .token)\"}"
done

# Followers end by their number of results, or when nothing comes.
answers 200 /v1/channel/publish '{"name": "c", "message": "one"}'
answers 200 /v1/channel/follow '{"name": "c", "all": true, "max": 1}'
is "an array" "$(field '.[0].message')" one
answers 400 /v1/channel/follow '{"name": "c", "all": true}'
is "field" "$(field .field)" max

# ---- Batches --------------------------------------------------------------------------------------

answers 200 /v1/batch '[{"call": "counter/add", "fields": {"name": "hits"}}, {"call": "queue/claim",
    "fields": {"name": "empty"}}, {"call": "nothing"}, {"call": "ping"}, 7,
    {"call": "ping", "field": {}}]'
is "statuses" "$(field '[.[].status] | tojson')" '[200,404,404,200,400,400]'
answers 200 /v1/batch '[]'
answers 200 /v1/batch "[$(printf '{"call": "ping"}, %.0s' {1..999}){\"call\": \"ping\"}]"
is "a thousand" "$(field length)" 1000
answers 400 /v1/batch "[$(printf '{"call": "ping"}, %.0s' {1..1000}){\"call\": \"ping\"}]"
answers 400 /v1/batch '{}'
answers 400 /v1/batch '{"calls": [], "order": true}'
answers 400 /v1/batch '{"calls": [], "in_order": 1}'
answers 200 /v1/batch '{"calls": []}'
# Calls run at once: the first one waits for the job of the last one. In order, it waits in vain.
wait_and_push() {
    echo '[{"call": "queue/claim", "fields": {"name": "late", "wait": "'"$1"'"}},
           {"call": "queue/push", "fields": {"name": "late", "payload": "x"}}]'
}
answers 200 /v1/batch "$(wait_and_push 30s)"
is "statuses" "$(field '[.[].status] | tojson')" '[200,200]'
answers 200 /v1/batch "{\"in_order\": true, \"calls\": $(wait_and_push 10ms)}"
is "statuses" "$(field '[.[].status] | tojson')" '[404,200]'
# A client that goes away leaves the lines of all its calls.
curl -s -m 1 -d "[$(printf '{"call": "queue/claim", "fields": {"name": "left", "wait": "1m"}}, %.0s' {1..20}){\"call\": \"ping\"}]" \
    "$base/v1/batch" >/dev/null
nobody_waits() { curl -s "$base/metrics" | grep -q '^tackle_serve_calls_waiting 0$'; }
eventually nobody_waits
answers 200 /v1/queue/push '{"name": "left", "payload": "x"}'
answers 200 /v1/queue/claim '{"name": "left"}'

# ---- Descriptions ---------------------------------------------------------------------------------

answers 200 /openapi.json
is "version" "$(field .openapi)" 3.1.0
answers 200 /metrics
has "$body" 'tackle_serve_requests_total{status="2xx"}'
has "$body" 'tackle_serve_calls_waiting 0'

# ---- Its end --------------------------------------------------------------------------------------

has "$(cat "$log")" "lock acquire door 200"
has "$(cat "$log")" "counter add hits 200" # of a batch
lacks "$(cat "$log")" "$token"

# Changes are logged, too, when the client did not wait for its answer.
pid=$(tackle --json server status | jq -r .pid)
kill -STOP "$pid"
curl -s -d '{"name": "unheard"}' "$base/v1/counter/add" >/dev/null &
client=$!
metric() { curl -s "$base/metrics" | grep -qx "tackle_serve_$1"; }
eventually metric 'calls_running 1'
gone=$(curl -s "$base/metrics" | sed -n 's/^tackle_serve_clients_gone_total //p')
kill "$client"
eventually metric "clients_gone_total $((gone + 1))"
kill -CONT "$pid"
eventually grep -q 'counter add unheard 504' "$log" # unknown outcome
answers 200 /v1/lock/acquire '{"name": "held", "lease": "60s"}'
curl -s -w '%{http_code}' -d '{"name": "held", "wait": "60s"}' "$base/v1/lock/acquire" >"$home/waiter" &
waiter=$!
eventually sh -c 'tackle --json lock show held | jq -e ".waiters == 1"'
curl -s -d '{"in_order": true, "calls": [{"call": "lock/acquire", "fields": {"name": "held", "wait": "60s"}},
    {"call": "counter/add", "fields": {"name": "never"}}]}' "$base/v1/batch" >"$home/batch" &
batch=$!
eventually sh -c 'tackle --json lock show held | jq -e ".waiters == 2"'
unserve
wait "$waiter" "$batch"
is "of a batch in order the rest is not begun" "$(jq -c '[.[].status]' "$home/batch")" '[503,503]'
lacks "$(tackle counter list)" never
has "$(cat "$home/waiter")" TKL_EINTR
has "$(cat "$home/waiter")" 503
is "what is held stays held" "$(tackle --json lock show held | jq -r '"\(.held) \(.waiters)"')" "1 0"

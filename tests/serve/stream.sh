#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tackle serve: results as they come, and holds that live as long as their connection.
#
# ctest: cost 20
. "$(dirname "$0")/lib.bash"
start_server
serve --heartbeat 1s --client-timeout 3s

# metric NAME VALUE: whether /metrics says so.
metric() { call /metrics && grep -qx "tackle_serve_$1 $2" <<<"$body"; }
# listen FILE PATH [CURL-ARGUMENT...]: opens a stream; leaves $client.
listen() {
    local file=$1 path=$2
    shift 2
    curl -sN -D "$home/stream.head" "$@" "$base$path" >"$file" &
    client=$!
}
events='Accept: text/event-stream'

# ---- Events ---------------------------------------------------------------------------------------

listen "$home/news" '/v1/channel/follow?name=news' -H "$events"
eventually metric streams 1
has "$(cat "$home/stream.head")" "Content-Type: text/event-stream"
for i in 1 2 3; do
    tackle channel publish news "message $i" >/dev/null
done
eventually grep -q 'message 3' "$home/news"
is "data" "$(sed -n 's/^data: //p' "$home/news" | jq -r .message)" $'message 1\nmessage 2\nmessage 3'
eventually grep -qx ':' "$home/news" # a sign of life
second=$(sed -n 's/^id: //p' "$home/news" | sed -n 2p)
is "the id is that of the message" "$second" \
    "$(sed -n 's/^data: //p' "$home/news" | sed -n 2p | jq -r .id)"
kill "$client"
eventually metric streams 0

# A client that comes back goes on behind what it has seen.
listen "$home/news" '/v1/channel/follow?name=news&recent=2&max=1' -H "$events" -H "Last-Event-ID: $second"
wait "$client"
is "the next one" "$(sed -n 's/^data: //p' "$home/news" | jq -r .message)" 'message 3'

# Lines of JSON.
listen "$home/lines" /v1/channel/follow -H 'Accept: application/x-ndjson' \
    -d '{"name": "news", "all": true, "max": 3}'
wait "$client"
has "$(cat "$home/stream.head")" "Content-Type: application/x-ndjson"
is "lines" "$(jq -r .message "$home/lines")" $'message 1\nmessage 2\nmessage 3'

# Events of a queue, and of a configuration.
answers 404 '/v1/queue/watch?name=nothing' -H "$events"
tackle queue push q first >/dev/null
listen "$home/queue" '/v1/queue/watch?name=q' -H "$events"
queue_client=$client
listen "$home/config" '/v1/config/watch?kind=k&component=c' -H "$events"
eventually metric streams 2
pushed() { tackle queue push q x >/dev/null && grep -q '^data: .*"q"\|^data: .*push' "$home/queue"; }
eventually pushed
tackle config set k c '{"a": 7}' >/dev/null
eventually grep -q '^data: .*7' "$home/config"
kill "$queue_client" "$client"
eventually metric streams 0

# Wrong requests are answered as usual; a later failure is an event.
call '/v1/channel/follow?name=news&after=x' -H "$events"
is "wrong" "$status" 400
call '/v1/channel/follow?name=news&wait=3s' -H "$events"
is "nothing comes" "$status" 200
has "$body" $'event: error\ndata: {"error": "TKL_EMPTY"'
call '/v1/queue/stats?name=q' -H "$events"
is "a verb without news" "$status $(field .name)" "200 q"

# ---- Slow clients ---------------------------------------------------------------------------------

# 40 MB of messages for a client that does not read: memory stays, and the client is cut off.
head -c 20000 /dev/zero | tr '\0' x >"$home/large"
for i in $(seq 20); do
    for j in $(seq 100); do cat "$home/large"; echo; done | tackle channel publish big --lines --history 2000 >/dev/null
done
before=$(awk '/VmRSS/ {print $2}' /proc/"$server"/status)
python3 - "$port" <<'END' || fail "see above"
import socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
s.connect(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"GET /v1/channel/follow?name=big&all HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
s.settimeout(60)
time.sleep(1)
s.recv(100)
END
slow=$(awk '/VmRSS/ {print $2}' /proc/"$server"/status)
# A sanitizer keeps what was freed for a while.
[ -n "${TACKLE_SANITIZE-}" ] || [ $((slow - before)) -lt 12000 ] || fail "a slow client took $((slow - before)) KB"
eventually metric streams 0
python3 - "$port" <<'END' || fail "see above"
import socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
s.connect(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"GET /v1/channel/follow?name=big&all HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
s.settimeout(1)
time.sleep(8)  # longer than --client-timeout: the server has given up
size = 0
try:
    while (data := s.recv(65536)):
        size += len(data)
except OSError:
    pass
assert size < 40000000, size
END
eventually metric streams 0
# A client that reads gets all of them.
listen "$home/big" '/v1/channel/follow?name=big&all&max=2000' -H "$events"
wait "$client"
is "all" "$(grep -c '^data: ' "$home/big")" 2000

# ---- Holds ----------------------------------------------------------------------------------------

held() { [ "$(tackle --json lock show "$1" | jq .held)" = "$2" ]; }
free() { ! tackle lock show "$1" >/dev/null 2>&1; }
listen "$home/hold" /v1/lock/acquire -d '{"name": "door", "lease": "1s", "keep": true}'
holder=$client
eventually grep -q token "$home/hold"
token=$(head -n 1 "$home/hold" | jq -r .token)
sleep 2.5 # more than two leases
is "the same holder" "$(tackle --json lock show door | jq -r .held)" 1
answers 409 /v1/lock/acquire '{"name": "door"}'
answers 200 /v1/lock/renew "{\"name\": \"door\", \"token\": \"$token\", \"lease\": \"1s\"}"
# The next client waits in line, and gets the lock when the first client goes away.
listen "$home/next" /v1/lock/acquire -H "$events" -d '{"name": "door", "lease": "60s", "wait": "60s", "keep": true}'
next=$client
eventually sh -c 'tackle --json lock show door | jq -e ".waiters == 1"'
kill -9 "$holder"
eventually grep -q '^data: .*"door"' "$home/next"
kill "$next"
eventually free door

# A wait that is kept can be refused, and left.
answers 200 /v1/lock/acquire '{"name": "door", "lease": "60s"}'
answers 409 /v1/lock/acquire '{"name": "door", "keep": true}'
is "error" "$(field .error)" TKL_BUSY
listen "$home/next" /v1/lock/acquire -d '{"name": "door", "wait": "60s", "keep": true}'
eventually sh -c 'tackle --json lock show door | jq -e ".waiters == 1"'
kill "$client"
eventually sh -c 'tackle --json lock show door | jq -e ".waiters == 0"'

# When the lock is lost, the stream says so and ends.
listen "$home/hold" /v1/lock/acquire -H "$events" -d '{"name": "gate", "lease": "1s", "keep": true}'
eventually held gate 1
tackle lock break gate >/dev/null
wait "$client"
has "$(cat "$home/hold")" $'event: ended\ndata: {"error": "TKL_NOTOWNER"'

# A permit, and a job.
listen "$home/permit" /v1/sem/acquire -d '{"name": "s", "limit": 1, "lease": "1s", "keep": true}'
permit=$client
tackle queue push work x >/dev/null
listen "$home/job" /v1/queue/claim -d '{"name": "work", "lease": "1s", "keep": true}'
eventually grep -q payload "$home/job"
eventually grep -q token "$home/permit"
sleep 2.5
is "the permit is kept" "$(tackle --json sem show s | jq -r '.held')" 1
is "the job is kept" "$(tackle --json queue stats work | jq -r .active)" 1
kill "$permit" "$client"
eventually sh -c '! tackle sem list --json | jq -e "any(.name == \"s\")"'
eventually sh -c 'tackle --json queue stats work | jq -e ".ready == 1"'
answers 200 /v1/queue/claim '{"name": "work"}'
is "no attempt was used" "$(field .attempt)" 1

answers 400 /v1/lock/acquire '{"name": "x", "keep": "yes"}'
answers 400 /v1/lock/renew "{\"name\": \"x\", \"token\": \"$token\", \"keep\": true}"
has "$(cat "$log")" "lock acquire gate 200"
has "$(cat "$log")" "lock acquire gate ended"

# ---- Its end --------------------------------------------------------------------------------------

listen "$home/hold" /v1/lock/acquire -d '{"name": "last", "lease": "60s", "keep": true}'
listen "$home/news" '/v1/channel/follow?name=news' -H "$events"
eventually held last 1
eventually metric streams 2
unserve
wait "$client"
has "$(cat "$home/news")" $'event: error\ndata: {"error": "TKL_EINTR"'
free last || fail "it was not released"

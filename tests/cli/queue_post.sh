#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle queue work --post`: jobs are POSTed to a URL.
#
# ctest: cost 20
. "$(dirname "$0")/lib.bash"
start_server
trap 'kill -KILL $(jobs -p) 2>/dev/null; clean_up' EXIT

stat_of() { tackle queue stats "$1" --json | jq -c "$2"; }
push() { tackle queue push "$@" >/dev/null || fail "push $*"; }
eventually() {
    local deadline=$((SECONDS + 60))
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || fail "never: $*"
        sleep 0.05
    done
}
stats_are() { [ "$(stat_of "$1" "$2")" = "$3" ]; }

# A receiver that answers as the payload says: "STATUS [HEADER: VALUE]", and notes what came.
cat >"$home/receiver.py" <<'END'
import http.server, json, sys, threading, time
class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        words = body.decode("latin-1").split(" ", 2)
        note = {"path": self.path, "body": body.decode("latin-1"), "at": time.time(),
                "port": self.client_address[1], "headers": {k.lower(): v for k, v in self.headers.items()}}
        with lock, open(sys.argv[1], "a") as notes:
            notes.write(json.dumps(note) + "\n")
        if words[0] == "sleep":
            time.sleep(float(words[1]))
        status = int(words[0]) if words[0].isdigit() else 200
        self.send_response(status)
        if len(words) == 3:
            self.send_header(words[1].rstrip(":"), words[2])
        answer = b"" if status == 204 else b"got " + body
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    def log_message(self, *_):
        pass
lock = threading.Lock()
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
server = Server(("127.0.0.1", int(sys.argv[2])), Receiver)
with open(sys.argv[1] + ".port", "w") as port:
    port.write(str(server.server_port))
server.serve_forever()
END
notes=$home/notes
receive() { # [PORT]
    : >"$notes"
    rm -f "$notes.port"
    python3 "$home/receiver.py" "$notes" "${1:-0}" 2>/dev/null &
    receiver=$!
    eventually test -s "$notes.port"
    port=$(cat "$notes.port")
    url=http://127.0.0.1:$port/jobs
}
receive

# ---- Answers --------------------------------------------------------------------------------------

id=$(tackle queue push q hello --kind greet --meta 'a b' --group g --result-for 1h)
ends 0 tackle queue work q --drain --post "$url"
is "done" "$(stat_of q '[.done, .failed]')" '[1,0]'
is "the answer is the result" "$(tackle queue result q "$id")" "got hello"
is "what came" "$(jq -c '[.path, .body]' "$notes")" '["/jobs","hello"]'
is "headers" "$(jq -c '.headers | [."tackle-queue", ."tackle-job", ."tackle-attempt", ."tackle-kind", ."tackle-meta", ."tackle-group", ."idempotency-key", ."content-type"]' "$notes")" \
    "[\"q\",\"$id\",\"1\",\"greet\",\"a%20b\",\"g\",\"$id\",\"application/octet-stream\"]"
is "a token of the claim" "$(jq -r '.headers."tackle-token" | length' "$notes")" 32
left=$(jq -r '(.headers."tackle-deadline" | fromdate) - .at' "$notes")
[ "${left%.*}" -ge 25 ] && [ "${left%.*}" -le 30 ] || fail "the deadline is $left s away"

# Any bytes, both ways.
id=$(printf 'a\0\xff' | tackle queue push q --result-for 1h)
ends 0 tackle queue work q --drain --post "$url"
is "bytes" "$(tackle queue result q "$id" --json | jq -r .result.base64)" "$(printf 'got a\0\xff' | base64)"

push fail '500' --retries 0
ends 1 tackle queue work fail --drain --post "$url"
id=$(tackle queue peek fail --state dead --json | jq -r ".[0].id")
has "$(tackle queue show fail "$id" --json | jq -r .error)" "answered with 500: got 500"
push gone '410'
ends 1 tackle queue work gone --drain --post "$url"
is "410 is hopeless" "$(stat_of gone .dead)" 1
push moved '302 Location: http://127.0.0.1:1/' --retries 0
ends 1 tackle queue work moved --drain --post "$url"
is "a redirection is not followed" "$(stat_of moved .dead)" 1

# Retry-After is honoured, and uses no attempt.
push later '503 Retry-After: 2'
ends 1 tackle queue work later --once --post "$url"
is "delayed" "$(stat_of later '[.delayed, .dead]')" '[1,0]'
tackle queue work later --post "$url" 2>/dev/null &
worker=$!
twice() { [ "$(jq -r 'select(.headers."tackle-queue" == "later") | .at' "$notes" | wc -l)" -ge 2 ]; }
eventually twice
kill "$worker"
wait "$worker"
is "after two seconds at least" \
    "$(jq -s '[.[] | select(.headers."tackle-queue" == "later") | .at] | (.[1] - .[0]) >= 1.9' "$notes")" true
is "the same attempt" "$(jq -s -c '[.[] | select(.headers."tackle-queue" == "later") | .headers."tackle-attempt"][:2]' "$notes")" \
    '["1","1"]'
push busy '429'
ends 1 tackle queue work busy --once --again 1h --post "$url"
is "delayed" "$(stat_of busy '[.delayed, .dead]')" '[1,0]'

# An answer that does not come in time.
push slow 'sleep 5' --retries 0
ends 1 tackle queue work slow --once --post-timeout 300ms --post "$url"
is "failed" "$(stat_of slow .dead)" 1
push limit 'sleep 5' --retries 0 --time-limit 300ms
ends 1 tackle queue work limit --once --post "$url"
is "failed" "$(stat_of limit .dead)" 1

# ---- Many at once ---------------------------------------------------------------------------------

: >"$notes"
seq -f 'sleep 0.2 %g' 40 | tackle queue push many --lines >/dev/null
ends 0 tackle queue work many --drain --threads 20 --post "$url"
is "some begin before another one has ended" \
    "$(jq -s '[.[].at] | sort | [.[1:], .[:-1]] | transpose | any(.[0] - .[1] < 0.19)' "$notes")" true
is "each once" "$(jq -r .body "$notes" | sort -u | wc -l) $(wc -l <"$notes")" "40 40"
[ "$(jq -r .port "$notes" | sort -u | wc -l)" -lt 40 ] || fail "connections are not used again"

# ---- Killed ---------------------------------------------------------------------------------------

# The receiver dies, and comes back.
push dead_receiver one two three
kill -9 "$receiver"
wait "$receiver" 2>/dev/null
tackle queue work dead_receiver --again 200ms --post "$url" 2>"$home/err" &
worker=$!
eventually grep -q 'tried again' "$home/err"
receive "$port"
eventually stats_are dead_receiver '[.done, .dead]' '[3,0]'
is "no attempt was used" "$(jq -r '.headers."tackle-attempt"' "$notes" | sort -u)" 1
kill "$worker"
wait "$worker"

# The receiver dies while it has jobs: they are tried again.
push dies 'sleep 2' --backoff 100ms
tackle queue work dies --post "$url" 2>/dev/null &
worker=$!
eventually grep -q '"tackle-queue": "dies"' "$notes"
kill -9 "$receiver"
wait "$receiver" 2>/dev/null
receive "$port"
eventually stats_are dies '[.done, .dead]' '[1,0]'
kill "$worker"
wait "$worker"

# The worker dies while its jobs are on their way: they come back.
push worker_dies 'sleep 1'
tackle queue work worker_dies --lease 1s --post "$url" 2>/dev/null &
worker=$!
eventually grep -q '"tackle-queue": "worker_dies"' "$notes"
kill -9 "$worker"
wait "$worker" 2>/dev/null
tackle queue work worker_dies --post "$url" 2>/dev/null &
worker=$!
eventually stats_are worker_dies '[.done, .dead]' '[1,0]'
is "another attempt" "$(jq -r 'select(.headers."tackle-queue" == "worker_dies") | .headers."tackle-attempt"' "$notes" | tail -n 1)" 2

# So does the program that posts.
push post_dies 'sleep 1' --backoff 100ms
tackle queue work post_dies --post "$url" 2>/dev/null &
second=$!
eventually grep -q '"tackle-queue": "post_dies"' "$notes"
kill -9 $(ps -o pid= --ppid "$second" | head -n 1)
eventually stats_are post_dies '[.done, .dead]' '[1,0]'
kill "$worker" "$second"
wait "$worker" "$second"

# ---- Options --------------------------------------------------------------------------------------

printf 'Authorization: Bearer secret\nX-Two: 2\n' >"$home/headers"
push q json
ends 0 tackle queue work q --drain --post "$url" --header 'Content-Type: application/json' --header "@$home/headers"
is "own headers" "$(tail -n 1 "$notes" | jq -c '.headers | [."content-type", .authorization, ."x-two"]')" \
    '["application/json","Bearer secret","2"]'
ends 64 tackle queue work q --post 'file:///etc/passwd'
ends 64 tackle queue work q --post "$url" --stream
ends 64 tackle queue work q --post "$url" --on 'a=b'
ends 64 tackle queue work q --post "$url" -- cat
ends 64 tackle queue work q --header 'A: b' -- cat
ends 64 tackle queue work q --post "$url" --post-timeout 0
kill "$receiver"

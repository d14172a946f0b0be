#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tackle serve under attack: broken requests, large and slow ones, thousands of waits, a server that
# goes away. It answers each as it should, and goes on.
#
# ctest: cost 40
. "$(dirname "$0")/lib.bash"
start_server
ulimit -n "$(ulimit -Hn)"
waits=1000
[ "$(ulimit -n)" = unlimited ] || [ "$(ulimit -n)" -gt 4096 ] || waits=200
serve --max-body 64kb --client-timeout 2s

# ---- Broken requests ------------------------------------------------------------------------------

for body in '{' '[]' '"x"' '1' 'null' '{"name": "a", "name": "b"}' '{"name": 1e999}' '{"name": {}}' \
    '{"name": [[]]}' '{éééééééééééééééééééééééééééééééééééé' '{"name": {"base64": 7}}' $'{"name": "\xff"}' '{"name": "a"} x' \
    "$(printf '[%.0s' {1..5000})" '{"name": 123456789012345678901234567890}'; do
    answers 400 /v1/queue/push "$body"
done
answers 413 /v1/queue/push "{\"name\": \"$(head -c 70000 /dev/zero | tr '\0' x)\"}"
head -c 70000 /dev/zero | tr '\0' x >"$home/large"
answers 413 /v1/queue/push -H 'Transfer-Encoding: chunked' --data-binary "@$home/large"
call /v1/ping -H "X-Long: $(head -c 40000 /dev/zero | tr '\0' x)"
[ "$status" -ge 400 ] || fail "a long header is answered with $status"
call "/v1/queue/stats?name=$(head -c 40000 /dev/zero | tr '\0' x)"
[ "$status" -ge 400 ] || fail "a long URL is answered with $status"
answers 200 /v1/ping

python3 - "$port" "$waits" <<'END' || fail "see above"
import json, socket, sys, time
port, waits = int(sys.argv[1]), int(sys.argv[2])

def connect():
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(30)
    return s

def post(path, body):
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()

def read_answer(stream):
    status = int(stream.readline().split()[1])
    length = 0
    while (line := stream.readline().strip()):
        name, value = line.split(b":", 1)
        if name.lower() == b"content-length":
            length = int(value)
    return status, stream.read(length)

# Pipelined requests are answered in order, also when the first one waits.
s = connect()
s.sendall(post("/v1/queue/claim", '{"name": "none", "wait": "300ms"}') + post("/v1/ping", "{}") +
          post("/v1/queue/push", '{"name": "p", "payload": "x"}'))
stream = s.makefile("rb")
assert [read_answer(stream)[0] for _ in range(3)] == [404, 200, 200]
s.close()

# Data that is not HTTP ends its connection, and nothing else.
for junk in (b"\0" * 1000, b"GET\r\n\r\n", b"POST /v1/ping HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
             b"POST /v1/ping HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
             b"GET /v1/%00%ff%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"*1\r\n$8\r\nFLUSHALL\r\n"):
    s = connect()
    s.sendall(junk)
    s.shutdown(socket.SHUT_WR)
    while s.recv(4096):
        pass
    s.close()

# Where a body ends, and which Host counts, must be beyond doubt.
def first_line(head, body=b""):
    s = connect()
    s.sendall(b"POST /v1/ping HTTP/1.1\r\n" + head + b"\r\n" + body)
    answer = b""
    while (data := s.recv(65536)):
        answer += data
    s.close()
    assert answer.count(b"HTTP/1.1 ") == 1, answer  # what follows is not taken for a request
    return answer.split(b"\r\n")[0]
HOST = b"Host: localhost\r\n"
behind = b'{"name": "smuggled"}'
behind = b"POST /v1/counter/add HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(behind) + behind
assert first_line(HOST + b"Connection: close\r\n").startswith(b"HTTP/1.1 200 ")
for head, body in ((b"Host: evil.example\r\n" + HOST, b""), (HOST + b"Host: evil.example\r\n", b""),
                   (HOST + b"Content-Length: 2\r\nContent-Length: 200\r\n", b"{}" + behind),
                   (HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + behind),
                   (HOST + b"Transfer-Encoding: gzip\r\n", behind),
                   (HOST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", b"0\r\n\r\n" + behind),
                   (HOST + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n", b""),
                   (HOST + b"Idempotency-Key: a\r\nIdempotency-Key: b\r\n", b""),
                   (HOST + b"Content-Length : %d\r\n" % len(behind), behind),
                   (HOST + b"Transfer-Encoding: chunked\r\n", b"zz\r\n{}\r\n0\r\n\r\n"),
                   (HOST + b"Transfer-Encoding: chunked\r\n", b"-2\r\n{}\r\n0\r\n\r\n")):
    assert first_line(head, body).startswith(b"HTTP/1.1 400 "), (head, first_line(head, body))

# A client that sends byte by byte, or not at all, is cut off.
began = time.monotonic()
slow = connect()
silent = connect()
slow.sendall(b"POST /v1/ping HTTP/1.1\r\nHost: localhost\r\nX: ")
try:
    while time.monotonic() - began < 30:
        slow.sendall(b"x")
        time.sleep(0.1)
    raise SystemExit("a slow client is served for ever")
except OSError:
    pass
assert silent.recv(1) == b"", "a silent client is served for ever"

# Thousands of waits, and all of them leave.
read = lambda path: json.loads(ask("GET " + path)[1])
def ask(line, body=b""):
    s = connect()
    s.sendall(f"{line} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() + body)
    answer = read_answer(s.makefile("rb"))
    s.close()
    return answer
def number(name):
    text = ask("GET /metrics")[1].decode()
    return int(next(l.split()[1] for l in text.splitlines() if l.startswith("tackle_serve_" + name + " ")))
def eventually(check):
    until = time.monotonic() + 120
    while not check():
        assert time.monotonic() < until, "never"
        time.sleep(0.1)
clients = []
for i in range(waits):
    s = connect()
    s.sendall(post("/v1/queue/claim", json.dumps({"name": f"q{i % 50}", "wait": "10m"})))
    clients.append(s)
eventually(lambda: number("calls_waiting") == waits)
assert ask("GET /healthz")[0] == 200
for s in clients[waits // 2:]:
    s.close()
eventually(lambda: number("calls_waiting") == waits // 2)
for s in clients[:waits // 2]:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, not a farewell
    s.close()
eventually(lambda: number("calls_waiting") == 0 and number("connections") <= 1)
END

lacks "$(tackle counter list)" smuggled

# ---- Limits ---------------------------------------------------------------------------------------

few=$(mktemp -u "$home/few.XXXX")
command tackle serve --listen "unix:$few" --max-connections 3 --client-timeout 1s --max-head 2kb 2>/dev/null &
small=$!
eventually test -S "$few"
python3 - "$few" <<'END' || fail "see above"
import socket, sys
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(sys.argv[1])
    return s
# More clients than there may be: the others are served when the first ones have ended.
request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
clients = [connect() for _ in range(7)]
for s in clients:
    s.sendall(request)
for s in clients:
    assert s.recv(15) == b"HTTP/1.1 200 OK"
for s in clients:
    s.close()
s = connect()
s.sendall(request)
assert s.recv(15) == b"HTTP/1.1 200 OK"
s = connect()
s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 3000 + b"\r\n\r\n")
assert s.recv(12) == b"HTTP/1.1 431", "a head of 3 KB"
END
kill "$small"
wait "$small" || fail "ended with $?"
for wrong in '--max-head 1kb' '--max-head 2mb' '--max-body 0' '--max-body -1' '--client-timeout 0' '--heartbeat 0'; do
    ends 64 tackle serve --listen "unix:$few" $wrong
done

# Descriptors: of 340, two for each of 42 connections; a job that is waited for takes one, too.
command bash -c 'ulimit -n 340; exec tackle serve --listen "unix:$0" --max-connections 1000' "$few" 2>"$home/few.log" &
small=$!
eventually test -S "$few"
has "$(cat "$home/few.log")" "at most 42 connections: the limit of open files is 340"
python3 - "$few" <<'END' || fail "see above"
import json, socket, sys, time
def ask(line, body=""):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(sys.argv[1])
    s.sendall(f"{line} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    return s
clients = [ask("POST /v1/queue/claim", json.dumps({"name": f"few{i}", "wait": "10m"})) for i in range(41)]
until = time.monotonic() + 60
while b"\ntackle_serve_calls_waiting 41\n" not in ask("GET /metrics").recv(65536):
    assert time.monotonic() < until, "not all of them wait"
    time.sleep(0.1)
for s in clients:
    s.close()
END
kill "$small"
wait "$small" || fail "ended with $?"

# ---- The server goes away -------------------------------------------------------------------------

is "few threads" "$(($(ls /proc/"$server"/task | wc -l) <= 16))" 1
pid=$(tackle --json server status | jq -r .pid)
kill -STOP "$pid"
for i in 1 2; do # with a connection from before, and without one
    answers 503 /readyz
    is "no details for strangers" "$(field .message)" "Redis does not answer"
done
call /v1/queue/push '{"name": "q", "payload": "x"}'
kill -CONT "$pid"
case $status in # sent, or not, if a connection had to be made
504) [[ $(field .error) == TKL_ETIMEOUT ]] || fail "no reply: $body" ;;
503) [[ $(field .error) == TKL_ENOTSENT ]] || fail "no reply: $body" ;;
*) fail "no reply: $status $body" ;;
esac
answers 200 /v1/queue/push '{"name": "q", "payload": "x"}'
kill -9 "$pid"
eventually sh -c "! kill -0 $pid 2>/dev/null"
call /v1/lock/show '{"name": "x"}'
[[ $status == 50[34] ]] || fail "without its server: $status $body"
answers 200 /healthz
answers 503 /readyz
tackle server start >/dev/null || fail "no server"
ready() { call /readyz && [ "$status" = 200 ]; }
eventually ready
answers 200 /v1/queue/push '{"name": "q", "payload": "x"}'
unserve

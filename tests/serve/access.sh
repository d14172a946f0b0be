#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tackle serve: tokens and rights, addresses, and requests of web pages.
. "$(dirname "$0")/lib.bash"
start_server

# ---- Addresses ------------------------------------------------------------------------------------

ends 64 tackle serve --listen 0.0.0.0:0
has "$err" "--token-file is needed"
ends 64 tackle serve --listen '[::]:0'
ends 64 tackle serve --listen 127.0.0.1:x
ends 64 tackle serve --listen 'x y:1'
ends 64 tackle serve --listen unix:
ends 64 tackle serve --allow nothing
ends 64 tackle serve --max-connections 0

# ---- The token file -------------------------------------------------------------------------------

tokens=$home/tokens
cat >"$tokens" <<'END'
# name   token                    rights
web      web-0123456789abcdef     queue:write lock:write read
report   report-0123456789abcdef  read
narrow   narrow-0123456789abcdef  queue:read
END
chmod 644 "$tokens"
ends 77 tackle serve --token-file "$tokens"
has "$err" "others may use it"
chmod 600 "$tokens"
ends 70 tackle serve --token-file "$home/nothing"
for line in 'name' 'name short read' 'name 0123456789abcdef' 'name 0123456789abcdef fly' \
    'name 0123456789abcdef nothing:read' ''; do
    echo "$line" >"$home/bad"
    chmod 600 "$home/bad"
    ends 64 tackle serve --token-file "$home/bad"
done
mkfifo "$home/fifo"
ends 77 tackle serve --token-file "$home/fifo"

serve --token-file "$tokens"
as() { local token=$1 status=$2; shift 2; answers "$status" "$@" -H "Authorization: Bearer $token"; }
answers 200 /healthz
answers 200 /readyz
answers 401 /v1/ping
has "$(cat "$home/head")" 'WWW-Authenticate: Bearer'
answers 401 /metrics
answers 401 /openapi.json
answers 401 /v1/batch '[]'
as wrong-0123456789abcdef 401 /v1/ping
as web-0123456789abcde 401 /v1/ping
as web-0123456789abcdef0 401 /v1/ping
answers 401 /v1/ping -H 'Authorization: Basic d2ViLTAxMjM0NTY3ODlhYmNkZWY='
answers 401 /v1/ping -H 'Authorization: web-0123456789abcdef'
answers 401 /v1/ping -H 'Authorization: Bearer '
as web-0123456789abcdef 200 /v1/ping
as web-0123456789abcdef 200 /v1/queue/push -d '{"name": "q", "payload": "x"}'
as web-0123456789abcdef 403 /v1/counter/add -d '{"name": "hits"}'
as web-0123456789abcdef 200 /v1/batch -d '[{"call": "counter/add", "fields": {"name": "h"}}, {"call": "ping"}]'
is "statuses" "$(field '[.[].status] | tojson')" '[403,200]'
as report-0123456789abcdef 200 '/v1/queue/stats?name=q'
as report-0123456789abcdef 403 /v1/queue/push -d '{"name": "q", "payload": "x"}'
as narrow-0123456789abcdef 200 '/v1/queue/stats?name=q'
as narrow-0123456789abcdef 403 /v1/ping
as narrow-0123456789abcdef 200 /openapi.json
is "only what is permitted" "$(field '[.paths | keys[] | select(startswith("/v1/lock"))] | length')" 0
unserve
has "$(cat "$log")" " web queue push q 200"
has "$(cat "$log")" " report queue push 403"
lacks "$(cat "$log")" 0123456789abcdef

# ---- Less of it -----------------------------------------------------------------------------------

serve --read-only --allow queue,ping
answers 200 '/v1/queue/stats?name=q'
answers 403 /v1/queue/push '{"name": "q", "payload": "x"}'
answers 403 '/v1/lock/show?name=x'
answers 200 /v1/ping
unserve

# ---- Web pages ------------------------------------------------------------------------------------

serve --host tackle.example,other.example
answers 403 /v1/ping -H 'Host: evil.example'
answers 403 /v1/ping -H "Host: evil.example:$port"
answers 403 /healthz -H 'Host: 127.0.0.1.evil.example'
answers 403 /v1/ping -H 'Host: tackle.example.evil.example'
answers 403 /v1/ping -H 'Host: tackle.example,other.example'
answers 200 /v1/ping -H 'Host: tackle.example'
answers 200 /v1/ping -H "Host: OTHER.example:$port"
answers 200 /v1/ping -H "Host: localhost:$port"
answers 200 /v1/ping -H 'Host: [::1]:80'
answers 403 /v1/ping -H 'Origin: https://evil.example'
answers 403 /v1/ping -H 'Origin: null'
answers 403 /v1/ping -H 'Sec-Fetch-Site: cross-site'
answers 403 /v1/ping -H 'Sec-Fetch-Site: same-site'
answers 200 /v1/ping -H 'Sec-Fetch-Site: none'
lacks "$(cat "$home/head")" Access-Control
answers 403 /v1/ping -X OPTIONS -H 'Origin: https://evil.example' -H 'Access-Control-Request-Method: POST'
unserve

# ---- Unix sockets ---------------------------------------------------------------------------------

command tackle serve --listen "unix:$home/http" 2>"$home/serve.log" &
server=$! log=$home/serve.log
eventually test -S "$home/http"
is "only its owner may connect" "$(stat -c %a "$home/http")" 600
eventually curl -sf --unix-socket "$home/http" http://any.name/v1/ping
ends 70 tackle serve --listen "unix:$home/http"
kill -9 "$server"
wait "$server" 2>/dev/null
command tackle serve --listen "unix:$home/http" 2>"$home/serve.log" &
server=$!
eventually curl -sf --unix-socket "$home/http" http://any.name/v1/ping
unserve
[ ! -e "$home/http" ] || fail "the socket was left"
echo text >"$home/file"
ends 70 tackle serve --listen "unix:$home/file"
is "a file is left alone" "$(cat "$home/file")" text

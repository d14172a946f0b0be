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

# ---- Logins of browsers ---------------------------------------------------------------------------

# from STATUS PATH [...]: as a page of ours calls, with the cookie of the last login.
from() { local status=$1 path=$2; shift 2; answers "$status" "$path" "$@" -b "$home/jar" -c "$home/jar" -H "Origin: $base"; }
logs_in() { from 200 /login -d "{\"token\": \"$1-0123456789abcdef\"}"; }
serve --token-file "$tokens" --session-life 1h
answers 405 /login
answers 400 /login '{}'
answers 400 /login '{"token": ["web-0123456789abcdef"]}'
answers 413 /login "{\"token\": \"$(head -c 5000 /dev/zero | tr '\0' x)\"}"
answers 403 /login -H 'Origin: https://evil.example' -d '{"token": "web-0123456789abcdef"}'
lacks "$(cat "$home/head")" Set-Cookie
logs_in web
is "the login answers who we are" "$(field .name)" web
has "$(cat "$home/head")" 'HttpOnly; SameSite=Strict'
lacks "$(cat "$home/head")" Path
lacks "$(cat "$home/head")" Secure
cookie=$(sed -n 's/^Set-Cookie: \([^;]*\).*/\1/p' "$home/head" | tr -d '\r')
from 200 /caller
is "name" "$(field .name)" web
from 200 /v1/queue/push -d '{"name": "q", "payload": "x"}'
from 403 /v1/counter/add -d '{"name": "hits"}'
from 200 /v1/batch -d '[{"call": "counter/add", "fields": {"name": "h"}}, {"call": "ping"}]'
is "statuses" "$(field '[.[].status] | tojson')" '[403,200]'
answers 200 '/v1/queue/stats?name=q' -H "Cookie: a=b; $cookie; c=d"
answers 200 /v1/ping -H "Cookie: $cookie" -H 'Sec-Fetch-Site: same-origin' -d '{}'
# A request that may change something must come from a page of this server, and say so.
answers 403 /v1/ping -H "Cookie: $cookie" -d '{}'
answers 403 /logout -H "Cookie: $cookie" -d ''
answers 403 /v1/ping -H "Cookie: $cookie" -H 'Origin: https://evil.example' -d '{}'
answers 403 /v1/ping -H "Cookie: $cookie" -H "Origin: http://127.0.0.1:1" -d '{}'
answers 403 /v1/ping -H "Cookie: $cookie" -H 'Sec-Fetch-Site: same-site' -d '{}'
answers 403 /v1/ping -H "Cookie: $cookie" -H 'Sec-Fetch-Site: cross-site' -H "Origin: $base" -d '{}'
# A token counts more than a cookie, and a wrong cookie nothing.
answers 401 /v1/ping -H "Cookie: $cookie" -H 'Authorization: Bearer wrong-0123456789abcdef'
answers 401 /v1/ping -H "Cookie: ${cookie%????}0000"
answers 401 /v1/ping -H "Cookie: tackle-session=x"
answers 401 /v1/ping -H "Cookie: other=$cookie"
# The server knows neither the token nor the secret of the session.
stored=$(tackle call KEYS '*dashboard*' --json | jq -r '.[]' | while read -r key; do
    tackle call DUMP "$key" | tr -d '\0'
done)
lacks "$stored" "${cookie#*=}"
lacks "$stored" 0123456789abcdef
# The Origin says that the browser came by HTTPS, to a proxy of ours.
answers 200 /login -H "Origin: https://127.0.0.1:$port" -d '{"token": "web-0123456789abcdef"}'
has "$(cat "$home/head")" '; Secure'
# Another server of the namespace knows the session; one without the token does not.
first=$server first_base=$base
grep -v '^web ' "$tokens" >"$home/fewer"
chmod 600 "$home/fewer"
for other in 200:$tokens 401:$home/fewer; do
    serve --token-file "${other#*:}"
    answers "${other%%:*}" /v1/ping -H "Cookie: $cookie"
    unserve
done
server=$first base=$first_base port=${first_base##*:}
from 200 /logout -d ''
is "ended" "$(field .ended)" true
from 200 /logout -d ''
is "ended" "$(field .ended)" false
answers 401 /v1/ping -H "Cookie: $cookie"
# A right token does not count, ten wrong ones are too many, and other tokens go on working.
for i in {1..12}; do logs_in report; done
for i in {1..10}; do answers 401 /login '{"token": "wrong"}'; done
answers 429 /login '{"token": "wrong"}'
[ "$(sed -n 's/^Retry-After: //p' "$home/head" | tr -d '\r')" -gt 0 ] || fail "no Retry-After"
answers 429 /login '{"token": "web-0123456789abcdef"}'
from 200 '/v1/queue/stats?name=q'
as web-0123456789abcdef 200 /v1/ping
tackle call FLUSHALL >/dev/null
from 401 /v1/ping
logs_in report
# Without Redis no user can log in, and the page hears why.
ends 0 tackle server stop
answers 503 /login '{"token": "web-0123456789abcdef"}'
from 503 /caller
as web-0123456789abcdef 200 /caller
as web-0123456789abcdef 503 /v1/ping
answers 401 /v1/ping
ends 0 tackle server start
eventually from 401 /caller
unserve
serve --token-file "$tokens" --session-life 200ms
logs_in web
sleep 0.3
from 401 /v1/ping
unserve
has "$(cat "$log")" " web login 200"
serve
answers 404 /login '{"token": "web-0123456789abcdef"}'
answers 200 /v1/queue/push '{"name": "q", "payload": "x"}'
unserve

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

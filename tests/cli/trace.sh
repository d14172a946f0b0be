#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# --trace: each command on stderr, with its time and without secrets; the result stays as it is.
. "$(dirname "$0")/lib.bash"
start_server

ends 0 tackle call SET greeting hello
ends 0 tackle --trace call GET greeting
is "the result" "$out" hello
has "$err" "] GET greeting  -> "
[[ $err =~ \[[0-9]+\.[0-9]{2}\ ms\]\ GET\ greeting ]] || fail "no time in: $err"

ends 0 tackle queue push mails a --trace
has "$err" "FCALL queue/push "
has "$err" "tackle:queue:{mails}"

# Long values are cut, binary ones escaped, empty ones visible.
ends 0 tackle --trace call SET long "$(printf 'x%.0s' {1..5000})"
has "$err" "... (5000 bytes)"
[ ${#err} -lt 1000 ] || fail "not cut: $err"
ends 0 tackle --trace call SET odd $'a b\e[31m"'
has "$err" '"a b\x1b[31m\""'
ends 0 tackle --trace call SET empty ''
has "$err" 'SET empty ""'
ends 0 tackle --trace call RPUSH many $(seq 100)
has "$err" "... (102 words)"

# Secrets are masked, wherever they go.
ends 0 tackle --trace call CONFIG SET masterauth hush
lacks "$err" hush
ends 0 tackle --trace call ACL SETUSER ann on '>hush' '~*' '&*' +@all
lacks "$err" hush
has "$err" "ACL SETUSER ann on *** ~*"
socket=$(tackle server status --json | jq -r .socket)
TACKLE_PASSWORD=hush tackle --url "unix://ann@$socket" --trace ping >/dev/null 2>"$home/err" || fail "ann"
has "$(cat "$home/err")" "AUTH *** ***"
lacks "$(cat "$home/err")" hush

# With --json every line of stderr is JSON.
ends 0 tackle --json --trace call SET a 1
is "words" "$(jq -c 'select(.trace.words[0] == "SET") | .trace.words' <<<"$err")" '["SET","a","1"]'
is "a time" "$(jq -c 'select(.trace.words[0] == "SET") | .trace.took_ms | type' <<<"$err")" '"number"'
ends 70 tackle --json --trace call GET
is "an error" "$(jq -r 'select(.trace.words[0] == "GET") | .trace.error' <<<"$err")" TKL_EREFUSED
ends 69 tackle --url redis://127.0.0.1:1 --trace ping
ends 64 tackle --trace=yes ping
echo "trace: all good"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Output for people and for programs, and failures to write it.
. "$(dirname "$0")/lib.bash"
start_server

# One JSON value, and one only.
json() {
    "$@" >"$home/json" || fail "$* failed"
    is "$* prints one JSON value" "$(jq -c . <"$home/json" | wc -l)" 1
    value=$(jq -c . <"$home/json")
}

# ---- Replies ---------------------------------------------------------------------------------

is "a status" "$(tackle call SET k v)" "OK"
is "a string" "$(tackle call GET k)" "v"
is "a string, readable" "$(tackle call GET k --readable)" '"v"'
is "nil" "$(tackle call GET none)" ""
is "nil, readable" "$(tackle call GET none --readable)" "(nil)"
is "an integer" "$(tackle call INCR n)" "1"
is "an integer, readable" "$(tackle call INCR n --readable)" "(integer) 2"
is "an empty array, readable" "$(tackle call LRANGE none 0 -1 --readable)" "(empty array)"
tackle call RPUSH list a 'b "c"' "" >/dev/null
is "an array" "$(tackle call LRANGE list 0 -1)" $'a\nb "c"'
is "an array, readable" "$(tackle call LRANGE list 0 -1 --readable)" $'1) "a"\n2) "b \\"c\\""\n3) ""'
is "arrays in arrays" "$(tackle call --readable EVAL "return {1,{2,{'x'}},redis.error_reply('NO way')}" 0)" \
    $'1) (integer) 1\n2) 1) (integer) 2\n   2) 1) "x"\n3) (error) NO way'
is "numbers are aligned" "$(tackle call --readable EVAL \
    "local t = {} for i = 1, 10 do t[i] = i end return t" 0 | sed -n '9,$p')" \
    $' 9) (integer) 9\n10) (integer) 10'
is "words like -inf are arguments" "$(tackle call ZRANGEBYSCORE z -inf +inf --json)" "[]"
is "behind -- all are" "$(tackle call -- ECHO --json)" "--json"
is "words of a terminal's trouble" "$(tackle call --readable ECHO $'\e[31m')" '"\x1b[31m"'

json tackle call --json EVAL "return {1, 'a', false, {}, redis.error_reply('NO way')}" 0
is "as JSON" "$value" '[1,"a",null,[],{"error":"NO way"}]'
json tackle call --json ECHO $'quote " and \\ and \n'
json tackle call --json ECHO "Grüße"
is "UTF-8 as JSON" "$value" '"Grüße"'
json tackle call --json ECHO $'\xff\xfe'
is "other bytes as JSON" "$value" '{"base64":"//4="}'
json tackle call --json INCRBY number 9007199254740993
is "no digit is lost" "$(cat "$home/json")" "9007199254740993"

printf 'a\0b\n' | tackle call SET bytes --stdin >/dev/null
is "bytes go in and out" "$(tackle call GET bytes | od -An -c | tr -d ' ')" 'a\0b\n\n'
head -c 3000000 /dev/urandom >"$home/big"
is "large bytes go in" "$(tackle call SET big --stdin <"$home/big")" "OK"
tackle call GET big | head -c 3000000 | cmp - "$home/big" || fail "large bytes come out changed"

# ---- Other results ---------------------------------------------------------------------------

json tackle ping --json
is "ping" "$(jq -r .reply <<<"$value")" "PONG"
[[ $(tackle ping) =~ ^PONG\ [0-9.]+\ ms$ ]] || fail "ping prints $(tackle ping)"
json tackle version --json
json tackle server status --json
is "state" "$(jq -r .state <<<"$value")" "running"
kill -0 "$(jq .pid <<<"$value")" || fail "no such process: $value"
is "fields are aligned" "$(tackle server status | sed -n 's/^\(state\|durability\)  *//p')" \
    $'running\nnone'
is "global options stand anywhere" "$(tackle --json server status)" "$(tackle server --json status)"
is "--url as two words or one" "$(tackle --url "$TACKLE_URL" call ECHO x)" \
    "$(tackle call ECHO x --url="$TACKLE_URL")"

# Durations are for people, in every table; headings are capitals.
tackle mail limit ann --max-age 90m >/dev/null
is "a duration" "$(tackle mail show ann | sed -n 's/^longest age  *//p')" "90.0 min"
is "a duration as JSON" "$(tackle mail show ann --json | jq .max_age_ms)" 5400000
is "headings" "$(tackle session list nobody)" "USER  ID  CREATED  LAST USE  ENDS"

# ---- When it cannot be printed ---------------------------------------------------------------

for command in "ping" "ping --json" "help" "call ECHO x" "call GET big"; do
    "$TACKLE" $command >/dev/full 2>"$home/err"
    is "exit code of $command on a full disk" $? 70
    has "$(cat "$home/err")" "cannot write to standard output: No space left"
    "$TACKLE" $command >&- 2>"$home/err"
    is "exit code of $command without stdout" $? 70
    { "$TACKLE" $command 2>"$home/err"; echo $? >"$home/code"; } | true
    case $(cat "$home/code") in
    0) ;; # it was quicker than the reader's end
    70) is "a closed pipe ends it silently" "$(cat "$home/err")" "" ;;
    *) fail "$command into a closed pipe ended with $(cat "$home/code")" ;;
    esac
done
{ sleep 0.3; "$TACKLE" ping 2>"$home/err"; echo $? >"$home/code"; } | :
is "exit code with a closed pipe" "$(cat "$home/code")" 70
ends 70 bash -c '"$TACKLE" call SET x --stdin <&-'
has "$err" "cannot read standard input"

# ---- Terminals -------------------------------------------------------------------------------

# DEL, U+009B, U+061C, U+200E, U+200F, U+2028, U+202E, U+2066 and a harmless ß, as bytes.
unsafe=$'\x7f\xc2\x9b\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6\xc3\x9f'
escaped='\u007f\u009b\u061c\u200e\u200f\u2028\u202e\u2066ß'
# is_safe WHAT TEXT: has none of them.
is_safe() {
    ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]' <<<"$2" ||
        fail "$1 would upset a terminal: $(od -An -c <<<"$2")"
}
# JSON is escaped wherever it goes, and means the same.
is "unsafe as JSON" "$(tackle call ECHO "$unsafe" --json)" "\"$escaped\""
is "read again" "$(tackle call ECHO "$unsafe" --json | jq -r .)" "$unsafe"
is "for programs it is what it was" "$(tackle call ECHO "$unsafe")" "$unsafe"
is_safe "call --readable" "$(tackle call ECHO "$unsafe" --readable)"
is_safe "an error in an array" \
    "$(tackle call --readable EVAL "return {redis.error_reply(ARGV[1])}" 0 "$unsafe")"
tackle search create unsafe --field title:text >/dev/null
tackle search add unsafe "id$unsafe" "a word $unsafe" --set "title=x$unsafe" >/dev/null || fail "add"
is_safe "search get" "$(tackle search get unsafe "id$unsafe")"
is_safe "search query" "$(tackle search query unsafe word --show text --json)"
tackle config set service "unsafe" "{\"text\":\"$unsafe\"}" >/dev/null || fail "config set"
is_safe "config get --json" "$(tackle config get service unsafe --json)"
is "config keeps it" "$(tackle config get service unsafe --json | jq -r .value.text)" "$unsafe"
for json in "" --json; do
    is_safe "an unknown option" "$(tackle call "--$unsafe" $json 2>&1)"
    is_safe "an unknown verb" "$(tackle "x$unsafe" $json 2>&1)"
    is_safe "an error of the server" "$(tackle call $json EVAL 'return redis.error_reply(ARGV[1])' 0 "$unsafe" 2>&1)"
    is_safe "a busy lock" "$(tackle lock run "l$unsafe" --label "$unsafe" -- \
        tackle lock acquire "l$unsafe" $json 2>&1)"
    is_safe "a command that is not there" "$(tackle lock run l $json -- "/nowhere$unsafe" 2>&1)"
    is_safe "a table" "$(tackle lock run "l$unsafe" --label "$unsafe" -- tackle lock list $json 2>&1)"
done

# ---- Colour ----------------------------------------------------------------------------------

lacks "$(tackle help)" $'\033'
if command -v script >/dev/null; then
    on_terminal() {
        script -qec "$1" /dev/null </dev/null | tr -d '\r'
    }
    has "$(TERM=xterm on_terminal "tackle help")" $'\033[1m'
    lacks "$(TERM=xterm NO_COLOR=1 on_terminal "tackle help")" $'\033'
    is "a terminal gets quotes" "$(on_terminal "tackle call GET k")" '"v"'

    # Bytes that would upset a terminal are escaped on a terminal only.
    tackle blist push raw $'\e[31m\x01\n' $'\e[31m\x01\n' >/dev/null
    is "lines of a value on a terminal" "$(on_terminal "tackle cache run c -- printf 'a\\033\\nb\\n'")" $'a\\x1b\nb'
    is "an item on a terminal" "$(on_terminal "tackle blist pop raw")" '\x1b[31m\x01\n'
    for verb in "call ECHO" "search get unsafe id" "config get service unsafe" "scan --match" "queue peek"; do
        is_safe "$verb on a terminal" "$(NO_COLOR=1 on_terminal "tackle $verb$unsafe")"
    done
    tackle blist push unsafe "$unsafe" >/dev/null
    is_safe "such an item on a terminal" "$(on_terminal "tackle blist pop unsafe")"
    is_safe "what a query finds" "$(NO_COLOR=1 on_terminal "tackle search query unsafe word --show text,title")"
    is "an item" "$(tackle blist pop raw)" $'\e[31m\x01'
    id=$(tackle queue push raw x --result-for 1h)
    tackle queue work raw --once --result -- printf 'a\033[31m\nb\n'
    is "a result on a terminal" "$(on_terminal "tackle queue result raw $id")" $'a\\x1b[31m\nb'
    is "a result" "$(tackle queue result raw "$id")" $'a\e[31m\nb'
fi

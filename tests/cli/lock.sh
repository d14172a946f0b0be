#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle lock`: every verb, what it prints and how it ends.
#
# ctest: cost 30
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/hold.bash"
start_server

token_of() { jq -r .token <<<"$out"; }

# ---- By hand --------------------------------------------------------------------------------------

ends 0 tackle lock acquire door --lease 1h --label "the key's keeper" --json
yields 'keys_unsorted' '["name","token","fence","lease_ms"]'
yields '[.name, .lease_ms, (.token | test("^[0-9a-f]{32}$")), (.fence > 0)]' '["door",3600000,true,true]'
token=$(token_of) fence=$(jq .fence <<<"$out")

ends 0 tackle lock show door --json
yields 'keys_unsorted' '["name","held","shared","holders","waiters","line"]'
yields '.holders[0] | keys_unsorted' '["host","pid","label","fence","left_ms","since_ms"]'
yields '[.name, .held, .shared, .waiters, (.holders | length)]' '["door",1,false,0,1]'
yields '.holders[0] | [.host, .label, .fence]' "[\"$(uname -n)\",\"the key's keeper\",$fence]"
yields '.holders[0] | .left_ms > 3000000 and .left_ms <= 3600000 and .since_ms >= 0' true

ends 1 tackle lock acquire door
has "$err" "tackle: lock acquire: held by $(uname -n), pid "
has "$err" "(the key's keeper) for "
is "and nothing on stdout" "$out" ""
ends 1 tackle lock acquire door --wait 50ms
ends 1 tackle lock acquire door --shared --json
is "busy, as JSON" "$out" ""
is "the error" "$(jq -r .error <<<"$err")" TKL_BUSY

ends 0 tackle lock renew door "$token" --lease 2h --json
yields '[.name, .token, .fence, .lease_ms]' "[\"door\",\"$token\",$fence,7200000]"
ends 0 tackle lock show door --json
yields '.holders[0].left_ms > 3600000' true

ends 1 tackle lock renew door 00000000000000000000000000000000
ends 1 tackle lock renew door nonsense
ends 1 tackle lock release door ffffffffffffffffffffffffffffffff
has "$err" "not held by this owner"
ends 0 tackle lock release door "$token" --json
yields . '{"name":"door","released":true}'
ends 1 tackle lock release door "$token"
ends 1 tackle lock renew door "$token"

ends 1 tackle lock show door --json
has "$err" "there is no lock 'door'"
is "nothing on stdout" "$out" ""
ends 0 tackle lock acquire door --lease 1h --json
yields ".fence > $fence" true
ends 0 tackle lock show door
has "$out" "held     1"
has "$out" "LEASE LEFT"

# A lease ends by itself.
ends 0 tackle lock acquire short --lease 1s --json
token=$(token_of)
eventually "a lease ends" tackle lock acquire short --lease 1h
ends 1 tackle lock release short "$token"
ends 0 tackle lock break short

# A lock that was waited for is held for its lease, although no process is left to confirm it.
ends 0 tackle lock acquire passed --json
tackle lock acquire passed --lease 1h --wait 1m --json >"$home/claim" &
waiter=$!
waiting() { [ "$(tackle lock show "$1" --json | jq .waiters)" = "$2" ]; }
eventually "one waits" waiting passed 1
shown=$out
ends 0 tackle lock show passed --json
yields '.line | length' 1
yields '.line[0] | [.host, .shared, (.pid > 0)]' "[\"$(uname -n)\",false,true]"
ends 0 tackle lock show passed
has "$out" "WAITER"
out=$shown
ends 0 tackle lock release passed "$(token_of)"
ended $waiter 0
ends 0 tackle lock show passed --json
yields '.holders[0].left_ms > 3000000' true
yields '.holders[0].fence' "$(jq .fence "$home/claim")"

# Readers share, writers do not.
ends 0 tackle lock acquire book --shared
ends 0 tackle lock acquire book --shared
ends 1 tackle lock acquire book
ends 0 tackle lock show book --json
yields '[.shared, (.holders | length)]' '[true,2]'

# ---- list and break -------------------------------------------------------------------------------

ends 0 tackle lock list --json
yields '[.[].name]' '["book","door","passed"]'
yields '[.[] | .holders | length]' '[2,1,1]'
ends 0 tackle lock list
has "$out" "door"
ends 0 tackle lock break book --json
yields . '{"name":"book","broken":true}'
ends 0 tackle lock break door
ends 0 tackle lock break passed
ends 1 tackle lock break door
has "$err" "nobody holds '"
ends 0 tackle lock list --json
yields . '[]'

# ---- Names ----------------------------------------------------------------------------------------

newline=$'two\nlines'
for name in "with space" "$newline" "{brace}" "a{b}c}" "*" "ünï" "-dash" "100%" ":"; do
    ends 0 tackle lock acquire --lease 1h --json -- "$name"
    is "name" "$(jq -r .name <<<"$out")" "$name"
    ends 1 tackle lock acquire -- "$name"
    ends 0 tackle lock show --json -- "$name"
    yields '[.held, (.holders | length)]' '[1,1]'
done
ends 0 tackle lock list --json
yields length 9
is "names come back" "$(jq -r '.[].name | select(. == "two\nlines")' <<<"$out")" "$newline"
ends 0 tackle lock list
has "$out" 'two\nlines'
ends 0 tackle lock acquire $'\xff\xfe' --json
yields .name '{"base64":"//4="}'
ends 0 tackle lock acquire labelled --label $'a b/c%\n\xff' --json
ends 0 tackle lock show labelled --json
yields '.holders[0].label' '{"base64":"YSBiL2MlCv8="}'

# ---- Wrong usage ----------------------------------------------------------------------------------

for wrong in "acquire" "acquire ''" "acquire a b" "acquire a --lease 0" "acquire a --lease soon" \
    "acquire a --lease -1" "acquire a --lease 20000d" "acquire a --wait later" "acquire a --wait" \
    "acquire a --replicas -1" "renew a" "renew a t --lease 5x" "release a" "show" "break" "list a" \
    "run" "run a" "run a --" "run a echo" "run -- a echo" "run a echo -- hi" "run '' -- echo" \
    "run a --lease 0 -- echo" "run a --wait x -- echo" "run a --on-lost panic -- echo" \
    "run a --grace x -- echo" "run a --unknown -- echo" "jump a"; do
    eval "ends 64 tackle lock $wrong"
    has "$err" "tackle: lock"
    is "$wrong: nothing on stdout" "$out" ""
done
ends 64 tackle lock acquire a --label "$(printf '%0300d' 0)"

# ---- Servers that cannot be had -------------------------------------------------------------------

for verb in "acquire a" "acquire a --wait 1s" "renew a 00000000000000000000000000000000" "show a" \
    "list" "break a" "run a -- touch $home/ran"; do
    ends 69 tackle --url redis://127.0.0.1:1 --timeout 500ms lock $verb
done
[ ! -e "$home/ran" ] || fail "ran without the lock"

# A claim that cannot be printed is given back, since no user could release it.
ends 70 bash -c 'tackle lock acquire unread --lease 1h >/dev/full'
is "said once" "$(grep -c "cannot write" <<<"$err")" 1
ends 1 tackle lock break unread

# A key of another type is in the way.
ends 0 tackle lock run odd -- true
ends 0 tackle call KEYS 'tackle:lock:{odd}:*'
ends 0 tackle call SET "$out" text
ends 70 tackle lock acquire odd
has "$err" "WRONGTYPE"

# ---- The user of docs/lock.md may do all this, and no more ----------------------------------------

mapfile -t rules < <(sed -n '/^ACL SETUSER/,/^```/{/^```/d; s/^ *//; p}' "$TACKLE_SOURCE/docs/lock.md" | tr ' ' '\n')
ends 0 tackle call "${rules[@]}"
socket=$(tackle server status --json | jq -r .socket)
export TACKLE_URL=unix://locker@$socket TACKLE_PASSWORD=secret
ends 0 tackle lock run acl -- echo "may run"
ends 0 tackle lock acquire acl --lease 1h --json
token=$(token_of)
tackle lock run acl --shared -- echo "may wait" >"$home/waited" &
waiter=$!
eventually "one waits" waiting acl 1
ends 0 tackle lock renew acl "$token" --lease 1h
ends 0 tackle lock list
has "$out" acl
ends 0 tackle lock release acl "$token"
ended $waiter 0
is "it waited" "$(cat "$home/waited")" "may wait"
ends 0 tackle lock acquire acl
ends 0 tackle lock break acl
ends 0 tackle lock acquire acl --shared --lease 1h --json
token=$(token_of)
tackle lock run acl -- echo "may write" >"$home/wrote" &
writer=$!
eventually "a writer waits" waiting acl 1
ends 75 tackle lock run acl --shared --wait 100ms -- echo "not before the writer"
ends 0 tackle lock release acl "$token"
ended $writer 0
is "it wrote" "$(cat "$home/wrote")" "may write"
ends 0 tackle lock acquire acl --shared --json
token=$(token_of)
ends 0 tackle lock acquire acl --shared
ends 0 tackle lock show acl
ends 0 tackle lock release acl "$token"
ends 0 tackle lock break acl
ends 0 tackle sem run acl --limit 1 -- echo "may run"
ends 0 tackle sem show acl
ends 77 tackle call GET other
ends 77 tackle --namespace other lock acquire acl
has "$err" "NOPERM"
echo "lock: all good"

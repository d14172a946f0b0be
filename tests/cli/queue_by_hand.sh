#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle queue claim`, ack, fail, release, renew: claims by hand.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/hold.bash"
start_server

stat_of() { tackle queue stats "$1" --json | jq -c "$2"; }
# pop ARG...: leaves the claim in $out, $id and $token.
pop() {
    ends 0 tackle queue claim "$@" --json
    id=$(jq -r .id <<<"$out") token=$(jq -r .token <<<"$out")
}

# ---- pop ------------------------------------------------------------------------------------------

pushed=$(tackle queue push mails alice --priority 5 --meta note --group g --time-limit 3s --retries 4)
pop mails --lease 1h
yields 'keys_unsorted' \
    '["id","token","queue","kind","payload","priority","attempt","retries","time_limit_ms","pushed_at","lease_ms","meta","group","error"]'
yields '[.queue, .payload, .priority, .attempt, .retries, .time_limit_ms, .lease_ms, .meta, .group]' \
    '["mails","alice",5,1,4,3000,3600000,"note","g"]'
is "its id" "$id" "$pushed"
[[ $token =~ ^[0-9a-f]{10}[A-Za-z0-9_-]{22}$ ]] || fail "token: $token"
is "active" "$(stat_of mails '[.ready, .active]')" "[0,1]"
ends 0 tackle queue peek mails --state active --json
yields '.[0] | [.id, .state, .attempt, .until > "2026"]' "[\"$id\",\"active\",0,true]"
ends 1 tackle queue claim mails
is "none" "$err" "tackle: queue claim: no job"
is "nothing on stdout" "$out" ""

printf 'a\0b\xff' | tackle queue push bytes >/dev/null
pop bytes
yields .payload '{"base64":"YQBi/w=="}'
tackle queue push bytes "" >/dev/null
pop bytes
yields .payload '""'
tackle queue push bytes 'human readable' >/dev/null
ends 0 tackle queue claim bytes
has "$out" $'\npayload   human readable'

# The first of several is served first.
tackle queue push low l1 >/dev/null
tackle queue push high h1 h2 >/dev/null
for expected in h1 h2 l1; do
    pop high low
    yields .payload "\"$expected\""
done
yields .queue '"low"'

# Waiting, with and without a push.
ends 1 tackle queue claim waited --wait 50ms
tackle queue claim waited --wait 1m --json >"$home/waited" &
waiter=$!
waiting() { [ "$(stat_of "$1" .waiters)" = 1 ]; }
eventually "one waits" waiting waited
tackle queue push waited now >/dev/null
ended $waiter 0
is "what was pushed" "$(jq -r .payload "$home/waited")" now

# A signal ends the wait and leaves nothing behind.
for signal in INT TERM; do
    background tackle queue claim nothing --wait 1m &
    waiter=$!
    eventually "it waits" waiting nothing
    kill -$signal $waiter
    ended $waiter $((128 + $(kill -l $signal)))
    ends 1 tackle queue stats nothing # no worker waits
done

# ---- ack, fail, release, renew -------------------------------------------------------------------

pop_one() { # QUEUE PAYLOAD OPTION...
    local queue=$1
    shift
    tackle queue push "$queue" "$@" >/dev/null
    pop "$queue" --lease 1h
}

pop_one ack payload
ends 0 tackle queue ack ack "$id" "$token" --json
yields . "{\"id\":\"$id\",\"outcome\":\"done\"}"
is "done" "$(stat_of ack '[.ready, .active, .done]')" "[0,0,1]"
ends 1 tackle queue ack ack "$id" "$token"
has "$err" "not valid"
pop_one ack payload
ends 1 tackle queue ack ack "$id" 00000000000000000000000000000000
ends 0 tackle queue ack ack "$id" "$token"
is "silent" "$out$err" ""

pop_one results payload --result-for 1h
printf 'a\0result' | tackle queue ack results "$id" "$token" --result - || fail "ack with a result"
is "its result" "$(tackle queue result results "$id" | od -An -c | tr -d ' ')" 'a\0result'

pop_one fail payload --backoff 1h
ends 0 tackle queue fail fail "$id" "$token" --reason 'no "luck"' --json
yields . "{\"id\":\"$id\",\"outcome\":\"failed\"}"
is "to be tried again" "$(stat_of fail '[.ready, .delayed, .failed]')" "[0,1,1]"
ends 0 tackle queue show fail "$id" --json
yields '[.state, .attempt, .error]' '["delayed",1,"no \"luck\""]'
pop_one fail2 payload --backoff 1h
ends 0 tackle queue fail fail2 "$id" "$token" --reason first --delay 10ms
pop fail2 --wait 1m
yields '[.attempt, .error]' '[2,"first"]'
ends 0 tackle queue fail fail2 "$id" "$token" --delay 0
pop fail2 --wait 1m # 0 is at once, not the backoff
ends 0 tackle queue fail fail2 "$id" "$token" --dead --reason hopeless
is "dead" "$(stat_of fail2 '[.ready, .delayed, .dead]')" "[0,0,1]"
pop_one fail3 payload --retries 0
ends 0 tackle queue fail fail3 "$id" "$token"
is "no retries" "$(stat_of fail3 .dead)" 1

pop_one release payload
tackle queue push release other >/dev/null
ends 0 tackle queue release release "$id" "$token" --json
yields . "{\"id\":\"$id\",\"outcome\":\"released\"}"
ends 1 tackle queue release release "$id" "$token"
pop release
yields '[.payload, .attempt]' '["payload",1]'
ends 0 tackle queue release release "$id" "$token" --delay 1h
is "for later" "$(stat_of release '[.ready, .delayed, .failed]')" "[1,1,0]"

pop_one extend payload
ends 0 tackle queue renew extend "$id" "$token" --lease 2h --progress '50 %' --json
yields . "{\"id\":\"$id\",\"lease_ms\":7200000}"
ends 0 tackle queue show extend "$id" --json
yields "[.progress, (.until | sub(\"\\\\.[0-9]+\"; \"\") | fromdate) - $(date +%s) > 5000]" '["50 %",true]'
ends 1 tackle queue renew extend "$id" ffffffffffffffffffffffffffffffff

# A lease that ends: the job comes back to the front, and the old token is refused.
tackle queue push lease first second >/dev/null
pop lease --lease 200ms
old=$token
sleep 0.3
pop lease --lease 1h
yields '[.payload, .attempt, .error]' '["first",2,"the worker was lost"]'
ends 1 tackle queue ack lease "$id" "$old"
has "$err" "not valid"
ends 0 tackle queue ack lease "$id" "$token"

# A cancelled job's claim is refused.
pop_one cancel payload
ends 0 tackle queue cancel cancel "$id"
ends 1 tackle queue ack cancel "$id" "$token"

# ---- A job that cannot be printed goes back -------------------------------------------------------

tackle queue push unread payload >/dev/null
ends 70 bash -c 'tackle queue claim unread --lease 1h >/dev/full'
has "$err" "cannot write to standard output"
is "ready, no attempt used" "$(stat_of unread '[.ready, .active, .failed]')" "[1,0,0]"

# ---- The script of docs/queue.md ------------------------------------------------------------------

mkdir "$home/bin"
printf '#!/bin/sh\ntest "$(cat)" != bad' >"$home/bin/send-mail"
chmod +x "$home/bin/send-mail"
sed -n '/^claim=/,/^```/{/^```/d; p}' "$TACKLE_SOURCE/docs/queue.md" >"$home/bin/script"
[ -s "$home/bin/script" ] || fail "no script in docs/queue.md"
ends 0 tackle queue drop mails --yes
tackle queue push mails good >/dev/null
bad=$(tackle queue push mails bad --retries 0)
cd "$home/bin" || exit
ends 0 bash ./script
ends 0 bash ./script
is "one done, one dead" "$(stat_of mails '[.ready, .active, .done, .dead]')" "[0,0,1,1]"
is "why" "$(tackle queue show mails "$bad" --json | jq -r .error)" "send-mail: 1"
echo "queue by hand: all good"

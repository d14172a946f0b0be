#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Passwords and tokens are nowhere to be seen: not in messages, not in the list of processes.
. "$(dirname "$0")/lib.bash"
start_server
socket=$(tackle server status --json | jq -r .socket)
secret=s3cr3t-p4ss
tackle call ACL SETUSER spy-7f3a on ">$secret" allkeys allcommands >/dev/null
with_password="unix://spy-7f3a:$secret@$socket"

unset TACKLE_URL
for url in "redis://spy-7f3a:$secret@127.0.0.1:1" "redis://spy-7f3a:$secret@no-such-host.invalid" \
    "redis://spy-7f3a:$secret@host:notaport" "redis:spy-7f3a:$secret@host" "spy-7f3a:$secret@host" \
    "$with_password/nowhere"; do
    "$TACKLE" --url "$url" --timeout 200ms ping >"$home/out" 2>&1 && fail "$url answers"
    lacks "$(cat "$home/out")" "$secret"
    TACKLE_URL=$url "$TACKLE" --timeout 200ms ping >"$home/out" 2>&1
    lacks "$(cat "$home/out")" "$secret"
done
TACKLE_PASSWORD=$secret "$TACKLE" --url redis://127.0.0.1:1 --timeout 200ms ping >"$home/out" 2>&1
lacks "$(cat "$home/out")" "$secret"

# While it runs: here it waits for its input. Both spellings.
mkfifo "$home/pipe"
for spelling in "--url redis://spy-7f3a:$secret@10.255.255.1:9" "--url=redis://spy-7f3a:$secret@10.255.255.1:9"; do
    "$TACKLE" $spelling call SET x --stdin <"$home/pipe" >/dev/null 2>&1 &
    pid=$!
    exec {feed}>"$home/pipe"
    for ((i = 0; i < 100; i++)); do
        line=$(tr '\0' ' ' <"/proc/$pid/cmdline")
        [[ $line == *xxxx@10.255.255.1* ]] && break
        sleep 0.05
    done
    kill "$pid"
    wait "$pid" 2>/dev/null
    exec {feed}>&-
    has "$line" "xxxx@10.255.255.1"
    lacks "$line" "$secret"
    lacks "$line" "spy-7f3a"
done

# Commands that tackle runs do not inherit it, unless asked. It is lock run's own business.
export TACKLE_PASSWORD=$secret
is "the child's password" \
    "$("$TACKLE" --url "unix://spy-7f3a@$socket" lock run door -- sh -c 'echo "${TACKLE_PASSWORD-none}"')" none
is "the child's password, wanted" \
    "$("$TACKLE" --url "unix://spy-7f3a@$socket" --keep-password lock run door -- sh -c 'echo "$TACKLE_PASSWORD"')" \
    "$secret"
"$TACKLE" --url "unix://spy-7f3a@$socket" queue push errands x >/dev/null
is "a job's password" \
    "$("$TACKLE" --url "unix://spy-7f3a@$socket" queue work errands --once -- \
        sh -c 'echo "${TACKLE_PASSWORD-none}"' 2>/dev/null)" none
unset TACKLE_PASSWORD

# ---- Tokens ---------------------------------------------------------------------------------------

# token_of COMMAND...: what an acquisition prints.
token_of() { "$@" --json | jq -r .token; }
export TACKLE_URL=embedded:$home/tokens?durability=none TACKLE_NODES=embedded:$home/tokens
for kind in lock "sem" redlock; do
    limit=
    [ $kind = sem ] && limit='--limit 1'
    token_of tackle $kind acquire door $limit >"$home/token"
    ends 0 tackle $kind renew door @"$home/token"
    is "$kind renew with - ends with" "$(tackle $kind renew door - <"$home/token" >/dev/null; echo $?)" 0
    ends 0 env TACKLE_TOKEN="$(cat "$home/token")" tackle $kind renew door
    is "$kind release with - ends with" "$(tackle $kind release door - <"$home/token" >/dev/null; echo $?)" 0
    ends 0 tackle $kind run door $limit -- true # it is free again
    ends 64 tackle $kind release door
    has "$err" "missing TOKEN"
    ends 64 tackle $kind release door - # standard input is empty
    has "$err" "no token in standard input"
    ends 70 tackle $kind release door @"$home/nowhere"
    has "$err" "$home/nowhere"
done
for verb in ack fail release renew; do
    tackle queue push errands x >/dev/null
    tackle queue claim errands --json >"$home/claim"
    jq -r .token "$home/claim" >"$home/token"
    ends 0 tackle queue $verb errands "$(jq -r .id "$home/claim")" @"$home/token"
    tackle queue drop errands --yes >/dev/null
done
tackle queue push errands x >/dev/null
ends 0 tackle queue work errands --once -- sh -c 'tackle queue renew errands "$TACKLE_JOB_ID" --progress half'
tackle session create alice >"$home/token"
ends 0 tackle session touch @"$home/token" teapot
is "a session by standard input" "$(tackle session check - --json <"$home/token" | jq -r .user)" alice
ends 0 env TACKLE_TOKEN="$(cat "$home/token")" tackle session recent
ends 64 env TACKLE_TOKEN="$(cat "$home/token")" tackle session end # may mean a user
ends 0 tackle session end @"$home/token"
slot='--algorithm concurrency --rate 1/1h'
tackle limit check slots k $slot --json | jq -r .ticket >"$home/token"
ends 0 tackle limit renew slots k $slot --ticket @"$home/token"
is "a ticket by standard input" \
    "$(tackle limit refund slots k $slot --ticket - <"$home/token" >/dev/null; echo $?)" 0

# A token on the command line is wiped from the list of processes.
frozen=$(tackle server status --json | jq .pid)
token=$(token_of tackle lock acquire door)
kill -STOP "$frozen"
tackle --timeout 60s lock renew door "$token" >/dev/null 2>&1 &
pid=$!
wiped() { line=$(tr '\0' ' ' <"/proc/$pid/cmdline") && [[ $line == *" renew door xxxx"* ]]; }
for ((i = 0; i < 400; i++)); do
    wiped && break
    sleep 0.05
done
kill -CONT "$frozen"
wait "$pid"
lacks "$line" "$token"
has "$line" "renew door xxxx"
unset TACKLE_URL TACKLE_NODES

lacks "$(tackle help; man -l "$TACKLE_BUILD/man/tackle.1" 2>/dev/null)" "$secret"

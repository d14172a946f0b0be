#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Passwords are nowhere to be seen: not in messages, not in the list of processes.
. "$(dirname "$0")/lib.bash"
start_server
socket=$(tackle server status --json | jq -r .socket)
secret=s3cr3t-p4ss
tackle call ACL SETUSER tester on ">$secret" allkeys allcommands >/dev/null
with_password="unix://tester:$secret@$socket"

unset TACKLE_URL
for url in "redis://tester:$secret@127.0.0.1:1" "redis://tester:$secret@no-such-host.invalid" \
    "redis://tester:$secret@host:notaport" "redis:tester:$secret@host" "tester:$secret@host" \
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
for spelling in "--url redis://tester:$secret@10.255.255.1:9" "--url=redis://tester:$secret@10.255.255.1:9"; do
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
    lacks "$line" "tester"
done

# Commands that tackle runs do not inherit it, unless asked. It is lock run's own business.
export TACKLE_PASSWORD=$secret
is "the child's password" \
    "$("$TACKLE" --url "unix://tester@$socket" lock run door -- sh -c 'echo "${TACKLE_PASSWORD-none}"')" none
is "the child's password, wanted" \
    "$("$TACKLE" --url "unix://tester@$socket" --keep-password lock run door -- sh -c 'echo "$TACKLE_PASSWORD"')" \
    "$secret"
"$TACKLE" --url "unix://tester@$socket" queue push errands x >/dev/null
is "a job's password" \
    "$("$TACKLE" --url "unix://tester@$socket" queue work errands --once -- \
        sh -c 'echo "${TACKLE_PASSWORD-none}"' 2>/dev/null)" none
unset TACKLE_PASSWORD

lacks "$(tackle help; man -l "$TACKLE_BUILD/man/tackle.1" 2>/dev/null)" "$secret"

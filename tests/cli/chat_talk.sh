#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle chat talk` on a terminal: colours, control characters, a server that goes away, the end.
. "$(dirname "$0")/lib.bash"
command -v script >/dev/null || exit 77
embedded=embedded:$home/server
tackle --url "$embedded" server start >/dev/null || fail "no server"
export TACKLE_URL=unix://$home/server/socket TERM=xterm

# sees WHO TEXT: waits until it is on the terminal.
sees() {
    for ((i = 0; i < 1000; i++)); do
        [[ $(tr -d '\r' <"$home/$1") == *"$2"* ]] && return
        sleep 0.02
    done
    fail "$1 does not see '$2' in: $(cat "$home/$1")"
}

# The keyboards are pipes that stay open.
tackle chat create lunch ann bob >/dev/null
mkfifo "$home/ann.keys" "$home/bob.keys"
touch "$home/ann" "$home/bob"
for who in ann bob; do
    script -qec "tackle --timeout 1s chat talk lunch $who" /dev/null \
        <"$home/$who.keys" >"$home/$who" &
done
ann=$(jobs -p %1) bob=$(jobs -p %2)
exec 7>"$home/ann.keys" 8>"$home/bob.keys"

echo "hello" >&7
sees bob $'\e[36mann:\e[0m hello'
lacks "$(cat "$home/ann")" 'ann:'
tackle chat send lunch bob $'\e[2Jbad\r' >/dev/null
sees ann '\x1b[2Jbad\r'

tackle --url "$embedded" server stop >/dev/null
echo "lost" >&7
sees ann "(not sent: "
tackle --url "$embedded" server start >/dev/null || fail "no server"
echo "again" >&7
sees bob $'\e[36mann:\e[0m again'
echo "and I" >&8
sees ann $'\e[36mbob:\e[0m and I'
is "each once" "$(grep -c 'and I' "$home/ann")" 1

tackle chat limit lunch --max-bytes 1 --when-full refuse
echo "too long" >&7
sees ann "limit of this chat"
tackle chat limit lunch

# (Not Ctrl-C: the shell lets its background processes ignore it.)
printf '\004' >&7
printf '\004' >&8
wait "$ann" || fail "Ctrl-D ended it with $?"
wait "$bob" || fail "Ctrl-D ended it with $?"
exec 7>&- 8>&-
is "all is acknowledged" "$(tackle chat show lunch --json | jq -c '.members | map(.unread)')" '[0,0]'

# Lines of a pipe must not get lost silently.
tackle --url "$embedded" server stop >/dev/null
ends 69 tackle chat talk lunch ann
tackle --url "$embedded" server start >/dev/null || fail "no server"

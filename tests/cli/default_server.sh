#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Without a URL the command uses the user's own private server, starts it if needed, and says so once.
. "$(dirname "$0")/lib.bash"

ends 0 tackle call SET greeting hello
has "$err" "started your private server, embedded:$XDG_DATA_HOME/tackle"
is "the answer" "$out" "OK"
ends 0 tackle call GET greeting
is "it is there, and not a word about it" "$out:$err" "hello:"
is "only its user may look" "$(stat -c %a "$XDG_DATA_HOME/tackle")" 700
ends 0 tackle server status --json
is "server verbs mean the same one" "$(jq -r .socket <<<"$out")" "$XDG_DATA_HOME/tackle/socket"
ends 0 tackle server stop
ends 0 tackle call GET greeting
is "it remembers" "$out" "hello"
has "$err" "started"
ends 0 tackle server stop

# An empty variable is as good as none; a set one wins, and --url wins over it.
ends 0 env TACKLE_URL= tackle server start
has "$out" "$XDG_DATA_HOME/tackle"
ends 69 env TACKLE_URL=redis://127.0.0.1:1 tackle --timeout 200ms ping
ends 0 env TACKLE_URL=redis://127.0.0.1:1 tackle ping --url "embedded:$XDG_DATA_HOME/tackle"
is "what was named is not announced" "$err" ""
ends 0 tackle server stop

# A relative XDG_DATA_HOME does not count; a home with odd characters does.
odd="$home/a b%20c?d#é"
mkdir "$odd"
ends 0 env XDG_DATA_HOME=relative HOME="$odd" tackle server start --json
is "below home" "$(jq -r .state <<<"$out")" "running"
[ -S "$odd/.local/share/tackle/socket" ] || fail "not below $odd: $out"
ends 0 env -u XDG_DATA_HOME HOME="$odd" tackle ping
is "the same one" "$err" ""
ends 0 env -u XDG_DATA_HOME HOME="$odd" tackle server stop

# The command says why it cannot write. (root may write anywhere but here.)
ends 69 env XDG_DATA_HOME=/proc/nowhere tackle ping
has "$err" "/proc/nowhere"

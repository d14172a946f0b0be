#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The exit code tells what happened.
. "$(dirname "$0")/lib.bash"

# No program listens on port 1, so the call is refused at once, with any time-out.
start=$SECONDS
ends 69 tackle --url redis://127.0.0.1:1 --timeout 500ms ping
has "$err" "tackle: ping: "
is "nothing on stdout" "$out" ""
ends 69 tackle --url redis://127.0.0.1:1 --timeout 500ms call GET x --json
is "nothing on stdout with --json" "$out" ""
ends 69 tackle --url "unix://$home/no-such-socket" --timeout 500ms ping
ends 69 tackle --url redis://no-such-host.invalid --timeout 500ms ping
((SECONDS - start < 30)) || fail "a dead server is not told in time"

start_server
ends 0 tackle call SET name value
ends 0 tackle call GET nothing
ends 70 tackle call NOSUCHCOMMAND
has "$err" "tackle: call: ERR unknown command"
is "nothing on stdout" "$out" ""
ends 70 tackle call LPUSH name x
has "$err" "WRONGTYPE"
ends 64 tackle call MULTI
ends 69 tackle call BLPOP nothing 0 --timeout 200ms
has "$err" "tackle: call: "

# A private server that runs or does not: yes and no.
export TACKLE_URL=embedded:$home/other
ends 1 tackle server status
has "$out" "stopped"
ends 1 tackle server stop
has "$err" "not running"
ends 0 tackle server start
ends 0 tackle server start
ends 0 tackle server status
has "$out" "running"
ends 0 tackle server stop

# Directories have names of any bytes.
for verb in start status stop; do
    ends 0 tackle --url "embedded:$home/"$'\xff' server $verb --json
    is "$verb in a directory of any name" "$(jq -c '.url | has("base64")' <<<"$out")" true
done

# A server that cannot be started counts as one that cannot be reached.
ends 69 env TACKLE_SERVER=no-such-server tackle --url embedded: ping
has "$err" "no-such-server"
ends 69 tackle --url embedded:/proc/none ping
has "$err" "the directory /proc/none cannot be made"
touch "$home/file"
ends 69 tackle --url "embedded:$home/file" ping
ends 69 tackle --url "embedded:$home/file" server start

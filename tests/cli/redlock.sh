#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Redlocks from the shell, on three private servers that are stopped, frozen and robbed.
. "$(dirname "$0")/lib.bash"
frozen=
trap '[ -z "$frozen" ] || kill -CONT $frozen 2>/dev/null; clean_up' EXIT

url() { echo "embedded:$home/$1?durability=none"; }
pid_of() { tackle server status --url "$(url "$1")" --json | jq .pid; }
on() { tackle call --url "$(url "$1")" "${@:2}"; }
export TACKLE_NODES=$(url 1),$(url 2),$(url 3)
for i in 1 2 3; do tackle server start --url "$(url $i)" >/dev/null || fail "no server"; done
key='tackle:redlock:{job}'
held() { for i in 1 2 3; do [ "$(on $i EXISTS "$key")" = 1 ] || return 1; done; }

# until_true SECONDS COMMAND...
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || fail "never true: $*"
        sleep 0.05
    done
}

# ---- By hand ----

ends 0 tackle redlock acquire job --lease 1m --json
token=$(jq -r .token <<<"$out")
is "the fields" "$(jq -c keys <<<"$out")" '["lease_ms","left_ms","name","token"]'
is "the name" "$(jq -r .name <<<"$out")" job
is "the lease" "$(jq .lease_ms <<<"$out")" 60000
is "the validity, at most" "$(jq '.left_ms > 30000 and .left_ms <= 59398' <<<"$out")" true
for i in 1 2 3; do is "the key on server $i" "$(on $i GET "$key")" "$token"; done

ends 1 tackle redlock acquire job
is "nothing on stdout" "$out" ""
ends 1 tackle redlock acquire job --wait 200ms
ends 75 tackle redlock run job --wait 100ms -- echo never
ends 0 tackle redlock renew job "$token" --lease 1h --json
is "the lease" "$(jq .lease_ms <<<"$out")" 3600000
ends 1 tackle redlock renew job 0123456789abcdef0123456789abcdef
ends 1 tackle redlock release job 0123456789abcdef0123456789abcdef
ends 1 tackle redlock release job nonsense
is "still held" "$(on 1 GET "$key")" "$token"
ends 0 tackle redlock release job "$token" --json
is "released" "$out" '{"name": "job", "released": true}'
ends 1 tackle redlock release job "$token"

ends 70 bash -c 'tackle redlock acquire job --lease 1h >/dev/full'
for i in 1 2 3; do is "what was not told is not kept, server $i" "$(on $i EXISTS "$key")" 0; done

# ---- While a command runs ----

ends 0 tackle redlock run job -- sh -c 'echo $TACKLE_LOCK $TACKLE_TOKEN ${TACKLE_FENCE-none}'
[[ $out =~ ^job\ [0-9a-f]{32}\ none$ ]] || fail "the environment: $out"
ends 7 tackle redlock run job -- sh -c 'exit 7'
ends 143 tackle redlock run job -- sh -c 'kill -TERM $$'
ends 127 tackle redlock run job -- no-such-command
for i in 1 2 3; do is "nothing is left on server $i" "$(on $i EXISTS "$key")" 0; done

# The lock is renewed: for longer than two leases no other program gets it.
tackle redlock run job --lease 2s -- \
    sh -c 'until [ -e "$0/go" ]; do sleep 0.05; done; echo done >"$0/first"' "$home" &
until_true 30 held
ends 75 tackle redlock run job --wait 4500ms -- echo never
touch "$home/go"
ends 0 tackle redlock run job --wait 30s -- cat "$home/first"
is "the first was done before" "$out" done
wait

# Lost: the command and what it started are ended.
tackle redlock run job --lease 1s --grace 1s -- sh -c 'sleep 100 & wait' 2>"$home/lost" &
run=$!
until_true 30 held
for i in 1 2 3; do on $i SET "$key" thief PX 60000 >/dev/null; done
wait "$run"
is "the exit code of a loss" $? 76
has "$(cat "$home/lost")" "lost job"
for i in 1 2 3; do
    is "the thief's is untouched" "$(on $i GET "$key")" thief
    on $i DEL "$key" >/dev/null
done
ends 0 tackle redlock run job --lease 1s --on-lost warn -- sh -c "
    for i in 1 2 3; do tackle call --url 'embedded:$home/'\$i DEL '$key'; done; sleep 4"
has "$err" "goes on without it"

# ---- Servers that do not answer ----

nodes=unix://$home/1/socket,unix://$home/2/socket,unix://$home/3/socket
frozen=$(pid_of 3)
kill -STOP "$frozen"
ends 0 tackle redlock run job --nodes "$nodes" -- echo two of three
kill -CONT "$frozen"
tackle server stop --url "$(url 3)" >/dev/null
ends 0 tackle redlock run job --nodes "$nodes" -- echo two of three
tackle server stop --url "$(url 2)" >/dev/null
ends 69 tackle redlock run job --nodes "$nodes" -- echo never
has "$err" "no majority of 3 servers answered"
ends 69 tackle redlock acquire job --nodes "$nodes" --wait 1h
is "nothing is left on the survivor" "$(on 1 EXISTS "$key")" 0

# ---- Usage ----

ends 64 env -u TACKLE_NODES tackle redlock acquire job
has "$err" "missing --nodes"
ends 64 tackle redlock acquire job --nodes nonsense
ends 64 tackle redlock acquire job --nodes "$(url 1),$(url 2),$(url 1)"
has "$err" "twice"
ends 64 tackle redlock acquire "" --nodes embedded:
ends 64 tackle redlock acquire job --nodes embedded: --lease 0
ends 64 tackle redlock acquire job --nodes embedded: --lease 1ms
ends 64 tackle redlock run job --nodes embedded:
ends 64 tackle redlock acquire job --nodes "$(printf 'unix:///%d,' {1..64})unix:///65"
ends 0 tackle redlock acquire job --nodes embedded:

# A list of servers inside a URL is one node.
ends 69 tackle redlock acquire job --nodes redis+cluster://127.0.0.1:1,127.0.0.1:2,unix:///nowhere
has "$err" "majority of 2 servers"

# Passwords in --nodes are wiped from the list of processes, and never printed.
ends 69 tackle redlock acquire job --nodes "redis://me:s3cr3t@127.0.0.1:1,unix://me:s3cr3t@/nowhere"
lacks "$err" s3cr3t
frozen=$(pid_of 1)
kill -STOP "$frozen"
tackle redlock acquire job --nodes "unix://me:s3cr3t@$home/1/socket" --node-timeout 30s 2>/dev/null &
run=$!
wiped() { tr '\0' ' ' <"/proc/$run/cmdline" | grep -q xxxx@; }
until_true 10 wiped
line=$(tr '\0' ' ' <"/proc/$run/cmdline")
kill "$run"
kill -CONT "$frozen"
wait "$run"
lacks "$line" s3cr3t

# ---- The user of docs/redlock.md may do all this, and no more ----

mapfile -t rules < <(sed -n '/^ACL SETUSER/,/^```/{/^```/d; s/^ *//; p}' "$TACKLE_SOURCE/docs/redlock.md" | tr ' ' '\n')
TACKLE_NODES=
for i in 1 2 3; do
    tackle server start --url "$(url $i)" >/dev/null
    on $i "${rules[@]}" >/dev/null
    TACKLE_NODES+=,unix://redlocker@$(tackle server status --url "$(url $i)" --json | jq -r .socket)
done
export TACKLE_NODES=${TACKLE_NODES#,} TACKLE_PASSWORD=secret
ends 0 tackle redlock acquire acl --lease 1m --json
token=$(jq -r .token <<<"$out")
ends 0 tackle redlock renew acl "$token" --lease 1m
ends 0 tackle redlock release acl "$token"
ends 0 tackle redlock run acl -- echo "may run"
ends 77 tackle --namespace other redlock acquire acl
unset TACKLE_PASSWORD

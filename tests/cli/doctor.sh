#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Which server is used: variables, configuration files, the private server; what the command says
# about it, and what `doctor` finds.
. "$(dirname "$0")/lib.bash"
unset TACKLE_CONFIG
config=$XDG_CONFIG_HOME/tackle/config
if [ -e /etc/tackle/config ]; then
    echo "skipped: this machine has a configuration of its own"
    exit 77
fi

state() {
    jq -r --arg check "$1" '.checks[] | select(.check == $check) | .state' <<<"$out"
}

# Without a named server, verbs whose data should be shared warn, on a terminal or not.
ends 0 tackle server start
for verb in "lock list" "queue list" "mail list" "sem list"; do
    # shellcheck disable=SC2086
    "$TACKLE" $verb >/dev/null 2>"$home/err"
    has "$(<"$home/err")" "nothing names a server, so this is your private one"
done
ends 0 tackle lock list --json
is "the warning as JSON" "$(jq -r .error <<<"$err")" TKL_OK
ends 0 tackle ping
is "nothing shared, no warning" "$err" ""
ends 0 tackle doctor --json
is "the reason" "$(jq -r .source <<<"$out")" "nothing names another"
is "private" "$(jq -r .private <<<"$out"):$(state server)" true:risk
is "all checks" "$(jq -r '[.checks[].check] | join(" ")' <<<"$out")" \
    "server answer permissions version eviction persistence replicas clock functions"
is "an unknown state" "$(jq -r '[.checks[].state] | unique | join(" ")' <<<"$out")" "ok risk"
ends 0 tackle doctor
has "$out" "risk     server       embedded:$XDG_DATA_HOME/tackle (nothing names another)"
has "$out" "append-only file, appendfsync everysec"

# A file that wants the private server: no warning.
mkdir -p "$XDG_CONFIG_HOME/tackle"
echo 'url = embedded:' >"$config"
chmod 600 "$config"
ends 0 tackle lock list
is "wanted" "$err" ""
ends 0 tackle doctor --json
is "the file" "$(jq -r .source <<<"$out"):$(state server)" "$config:ok"
ends 0 tackle lock list --url "embedded:$XDG_DATA_HOME/tackle"
is "--url wants it, too" "$err" ""
ends 0 env TACKLE_URL="embedded:$XDG_DATA_HOME/tackle" tackle doctor --json
is "the variable" "$(jq -r .source <<<"$out")" TACKLE_URL

# The file names another server, a user, its password and a namespace.
start_server
url=$TACKLE_URL
socket=$(tackle server status --json | jq -r .socket)
ends 0 tackle call ACL SETUSER deploy on '>sesame' allkeys allchannels +@all
unset TACKLE_URL
echo sesame >"$XDG_CONFIG_HOME/tackle/password"
printf 'url = unix://%s\nuser = deploy\npassword-file = password\nnamespace = shop\n' "$socket" >"$config"
ends 0 tackle call ACL WHOAMI
is "the user of the file" "$out" deploy
ends 0 tackle counter add hits
ends 0 tackle call EXISTS 'shop:counter:{hits}:c1'
ends 0 tackle call --raw KEYS 'shop:*'
has "$out" "shop:counter:{hits}"
ends 0 tackle counter add hits --namespace other
ends 0 tackle call --raw KEYS 'other:*'
has "$out" "other:counter:{hits}"

# A guard that gives back uses the same file.
tackle lock run deploy --lease 1h -- sleep 100 &
run=$!
until [ "$(tackle lock show deploy --json 2>/dev/null | jq .held)" = 1 ]; do sleep 0.05; done
kill -9 $run
until ! tackle lock show deploy >/dev/null 2>&1 ||
    [ "$(tackle lock show deploy --json 2>/dev/null | jq .held)" = 0 ]; do sleep 0.05; done

# --url and TACKLE_URL leave the file alone: user and password are for its own server.
ends 0 tackle call ACL WHOAMI --url "unix://$socket"
is "not the user of the file" "$out" default
ends 0 env TACKLE_URL="unix://$socket" tackle call ACL WHOAMI
is "not the user of the file" "$out" default

# Files that are refused.
chmod 620 "$config"
ends 77 tackle ping
has "$err" "$config is not used: others may write it"
ends 0 tackle ping --url "unix://$socket"
chmod 600 "$config"
echo 'colour = red' >>"$config"
ends 64 tackle ping
has "$err" "$config: line 5: unknown setting 'colour'"
ends 64 tackle doctor
ends 70 env TACKLE_CONFIG="$home/none" tackle ping
has "$err" "does not exist"

# A password in a file that others can read; never printed.
printf 'url = unix://deploy:sesame@%s\n' "$socket" >"$config"
chmod 644 "$config"
ends 0 tackle doctor
has "$out" "has a password and can be read by others"
has "$out" "unix://deploy@$socket"
lacks "$out$err" sesame
rm "$config"

# A server that loses and evicts, a user who may do little, and no server at all.
export TACKLE_URL=$url
ends 0 tackle call CONFIG SET maxmemory 100mb maxmemory-policy allkeys-lru
ends 0 tackle doctor --json
is "evicts, keeps nothing" "$(state eviction):$(state persistence)" risk:risk
ends 0 tackle call CONFIG SET maxmemory 0
ends 0 tackle call ACL SETUSER deploy reset on '>sesame' '~tackle:lock:*' +fcall +ping +client
ends 0 env TACKLE_PASSWORD=sesame tackle doctor --url "unix://deploy@$socket" --json
is "may not" "$(state permissions):$(state loading):$(state clock):$(state functions)" \
    risk:risk:unknown:unknown
lacks "$(jq -r '.checks[] | select(.check == "permissions") | .finding' <<<"$out")" lock
ends 69 tackle doctor --url redis://127.0.0.1:1 --timeout 200ms
has "$out" "fails    answer"
ends 69 tackle doctor --url redis://127.0.0.1:1 --timeout 200ms --json
is "unreachable" "$(state answer)" fails

# ---- A cluster: each master is examined --------------------------------------------------------------

. "$(dirname "$0")/cluster.bash"
start_cluster
one=redis://127.0.0.1:${ports[0]} two=redis://127.0.0.1:${ports[1]} both=redis+cluster://127.0.0.1:${ports[0]}

ends 0 tackle call CONFIG SET maxmemory 100mb maxmemory-policy allkeys-lru --url "$two"
ends 0 tackle call ACL SETUSER deploy on '>sesame' '~tackle:lock:*' '&*' +@all --url "$one"
ends 0 tackle call ACL SETUSER deploy on '>sesame' '~*' '&*' +@all --url "$two"
ends 0 tackle doctor --url "redis+cluster://deploy:sesame@127.0.0.1:${ports[0]}" --json
servers() { jq -c --arg check "$1" --arg state "$2" '[.checks[] | select(.check == $check and .state == $state) | .servers[]]' <<<"$out"; }
is "evicts" "$(servers eviction risk)" "[\"127.0.0.1:${ports[1]}\"]"
is "does not" "$(servers eviction ok)" "[\"127.0.0.1:${ports[0]}\"]"
is "may not" "$(servers permissions risk)" "[\"127.0.0.1:${ports[0]}\"]"
is "alike" "$(servers version ok | jq length)" 2
lacks "$out$err" sesame
ends 0 tackle doctor --url "$both"
has "$out" "MB used (127.0.0.1:${ports[1]})"
[[ $out =~ "version      "[^$'\n']*"cluster"$'\n' ]] || fail "what is alike needs no address: $out"

# A server of a cluster that is named alone, and one that is gone.
ends 1 tackle doctor --url "$one"
has "$out" "fails    cluster      this server is one of a cluster, and named alone"
kill -9 "$(<"$home/node1/pid")"
ends 1 tackle doctor --url "$both" --timeout 1s --json
is "gone" "$(servers answer fails)" "[\"127.0.0.1:${ports[1]}\"]"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Wrong arguments: exit code 64, a message that helps, nothing on stdout, no server started.
. "$(dirname "$0")/lib.bash"

# refuses MESSAGE ARG...
refuses() {
    local message=$1
    shift
    ends 64 tackle "$@"
    is "$* prints nothing" "$out" ""
    has "$err" "$message"
    has "$err" "--help'"
}

refuses "unknown command 'pnig'; did you mean 'ping'?" pnig
refuses "unknown command 'zzz'" zzz
lacks "$err" "did you mean"
refuses "unknown command ''" ""
refuses "unknown command 'PING'" PING
refuses "server: unknown verb 'statsu'; did you mean 'status'?" server statsu
refuses "server start: unknown option '--durablity'; did you mean '--durability'?" \
    server start --durablity none
refuses "unknown option '--durablity'" server start --durablity=none
refuses "unknown option '--durability'" --durability none server start
refuses "unknown option '--'" ping --=x
refuses "two dashes" ping -x
refuses "two dashes" server start -durability none
refuses "ping: unexpected argument 'extra'" ping extra
refuses "unexpected argument '-'" ping -
# What there is of a component is listed by "list", in all of them.
lacks "$(every_verb)" " names"

# JSON wherever the option stands, also behind the mistake.
for wrong in "--timeout x ping" "nonsense" "queue nonsense" "--bogus" "queue list --bogus"; do
    ends 64 tackle $wrong --json
    is "$wrong" "$(jq -r .error <<<"$err")" TKL_EINVAL
done
refuses "unexpected argument '--json'" ping -- --json
refuses "call: missing ARG..." call
refuses "--durability needs a value: none|snapshot|lazy|everysec|always" server start --durability
refuses "invalid --durability 'some': not one of the choices none|" server start --durability some
refuses "invalid --durability ''" server start --durability=
refuses "--json takes no value" ping --json=yes
refuses "invalid --timeout '5x': unknown unit" ping --timeout 5x
refuses "invalid --timeout '-5s': must not be negative" ping --timeout -5s
refuses "invalid --timeout '': not a number" ping --timeout=
refuses "invalid --timeout" ping --timeout 0
refuses "unknown command 'nonsense'" help nonsense
refuses "unknown verb 'strat'; did you mean 'start'?" help server strat
refuses "unknown command 'nonsense'" demo nonsense
refuses "there is no tour of 'help'" demo help
refuses "names no private server" --url redis://localhost server stop
refuses "names no private server" --url embedded: server start

ends 64 tackle server
has "$err" "status"
ends 64 tackle --url nonsense://x ping
has "$err" "tackle: ping: "
ends 64 tackle --url "" ping

[ ! -e "$XDG_DATA_HOME/tackle/socket" ] || fail "a wrong command line has started a server"

ends 64 tackle call --json
has "$err" '{"error": "TKL_EINVAL", "message": "missing ARG..."}'

# A word with one dash is a mistake, a number or data behind "--".
start_server
refuses "goes after --" queue push mails x -p 5
ends 0 tackle queue push mails -- -x
ends 0 tackle queue push mails -5
ends 0 tackle call ZRANGEBYSCORE nothing -inf +inf

# Another program's variable will do.
url=$TACKLE_URL
unset TACKLE_URL
ends 0 env REDIS_URL="$url" tackle call PING
[ ! -e "$XDG_DATA_HOME/tackle/socket" ] || fail "REDIS_URL was not used"

# A reader who goes ends the command silently.
export TACKLE_URL=$url
tackle call EVAL "local t = {} for i = 1, 200000 do t[i] = i end return t" 0 2>"$home/err" | head -n 1 >/dev/null
is "nothing is said" "$(cat "$home/err")" ""

# What lasts lasts longer than 0, in every verb. (Of limits 0 removes one.)
lasting=0
while read -r component verb; do
    [[ $verb == limit || "$component $verb" == "chat create" ]] && continue
    help=$(tackle "$component" ${verb:+"$verb"} --help)
    for option in ttl lease time-limit backoff backoff-max unique-for; do
        [[ $help == *"  --$option DURATION"* ]] || continue
        ends 64 tackle "$component" "$verb" --$option 0
        has "$err" "invalid --$option '0': must be more than 0"
        lasting=$((lasting + 1))
    done
done < <(every_verb)
[ "$lasting" -gt 30 ] || fail "only $lasting options that last were found"

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
# Names that other programs use.
refuses "queue: unknown verb 'pop'; did you mean 'claim'?" queue pop
refuses "queue: unknown verb 'delete'; did you mean 'drop'?" queue delete
refuses "lock: unknown verb 'unlock'; did you mean 'release'?" lock unlock
refuses "queue push: unknown option '--prio'; did you mean '--priority'?" queue push x --prio 3
refuses "unknown command 'semaphore'; did you mean 'sem'?" semaphore list
refuses "blist push: unknown option '--left'; did you mean '--first'?" blist push x a --left
refuses "counter: unknown verb 'incr'; did you mean 'add'?" counter incr x
refuses "unknown command 'info'; did you mean 'status'?" info
refuses "unknown command 'publish'; did you mean 'channel publish'?" publish
refuses "unknown command 'enqueue'" enqueue
refuses "unknown command 'push'; did you mean 'queue push' or 'blist push'?" help push
refuses "unknown command 'push'; did you mean 'queue push' or 'blist push'?" push
refuses "server start: unknown option '--durablity'; did you mean '--durability'?" \
    server start --durablity none
refuses "unknown option '--durablity'" server start --durablity=none
refuses "unknown option '--durability'" --durability none server start
refuses "unknown option '--'" ping --=x
refuses "two dashes" ping -x
refuses "two dashes" server start -durability none
refuses "ping: unexpected argument 'extra'" ping extra
refuses "unexpected argument '-'" ping -
# In all components "list" lists the names.
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

# The command ends silently when the reader of its output goes.
export TACKLE_URL=$url
tackle call EVAL "local t = {} for i = 1, 200000 do t[i] = i end return t" 0 2>"$home/err" | head -n 1 >/dev/null
is "nothing is said" "$(cat "$home/err")" ""

# Durations are above 0 in every verb. (0 removes a limit.)
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

# ---- The words of the library become those of the command -----------------------------------------

# says LINE TEXT: wrong usage leads to this text.
says() {
    eval "ends 64 tackle $1"
    has "$err" "$2"
}
export TACKLE_URL=embedded:$home/words?durability=none
says "lock acquire a --lease 20000d" "lock acquire: --lease is 20000.0 days, must be from 1 ms to 3660.0 days"
says "redlock acquire a --nodes $TACKLE_URL --lease 1ms" "--lease is 1 ms, must be from 10 ms to 3660.0 days"
says "redlock acquire a --nodes $TACKLE_URL --node-timeout 20000d" "--node-timeout is 20000.0 days"
says "counter series a --from now --to @5" "--from is after --to"
says "session list a --count 99999" "--count is 99999, must be from 1 to 1000"
says "--timeout 20000d ping" "--timeout is 20000.0 days"
ends 64 tackle lock acquire a --lease 20000d --json
has "$err" '"message": "--lease is 20000.0 days'

# ---- An empty name is wrong usage, whatever the verb ----------------------------------------------

while read -r component verb; do
    read -ra words <<<"$(tackle help "$component" $verb | sed -n "s/^Usage: tackle $component $verb *\(\[OPTION...\]\)\? *//p")"
    [[ ${words[0]-} =~ ^(NAME|NAME\.\.\.|INDEX|BOOK|SET|TABLE|KIND|USER|MEMBER)$ ]] || continue
    line=("$component" $verb "")
    for word in "${words[@]:1}"; do
        case $word in
        --) line+=(--) ;;
        COMMAND) line+=(true) ;;
        \[*) ;;
        *) line+=(1) ;;
        esac
    done
    ends 64 tackle "${line[@]}"
done < <(every_verb)

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# One rule for things that do not exist: a verb about one thing that is not there exits with 1,
# prints nothing on stdout, and names the missing thing on stderr.
. "$(dirname "$0")/lib.bash"
start_server

# The arguments that the usage of a verb needs, all with the same name.
wanted() {
    [ "$*" != "cache drop" ] || echo nobody # KEY, or --tag
    tackle "$@" --help |
        sed -n "s/^Usage: tackle $*//; T; s/ \[[^]]*\]//g; s/[A-Z]\+/nobody/g; p"
}

shown=0
while read -r component verb; do
    case $verb in
    show | stats | info | status | drop | report) ;;
    *) continue ;;
    esac
    case "$component $verb" in
    'server status' | 'maintenance status' | 'ads report') continue ;; # a state; a list
    esac
    yes=
    [ "$verb" != drop ] || yes=--yes
    ends 1 tackle "$component" "$verb" $(wanted "$component" "$verb") $yes
    is "$component $verb: stdout" "$out" ""
    [[ $err == *"nobody"* || $err == *"there is no store 'default'"* || $err == *"nothing was"* ||
        $err == *"no such job"* ]] || fail "$component $verb: $err"
    ends 1 tackle --json "$component" "$verb" $(wanted "$component" "$verb") $yes
    is "$component $verb --json: stdout" "$out" ""
    is "$component $verb" "$(jq -r .error <<<"$err")" TKL_NOTFOUND
    shown=$((shown + 1))
done < <(every_verb)
[ $shown -gt 30 ] || fail "only $shown verbs"

# So do other verbs about one thing.
while read -r verb; do
    ends 1 tackle $verb
    is "$verb: stdout" "$out" ""
    has "$err" "nobody'"
    ends 1 tackle --json $verb
    is "$verb --json: stdout" "$out" ""
    is "$verb" "$(jq -r .error <<<"$err")" TKL_NOTFOUND
done <<'VERBS'
ads explain nobody nobody --location x
bloom exists nobody x
cache get nobody
config get nobody nobody
ip lookup nobody 192.0.2.1
leader break nobody
limit reset nobody nobody
lock break nobody
queue dead nobody
queue limit nobody
queue peek nobody
queue times nobody
queue why nobody
search check nobody
search get nobody 1
search query nobody x
sem break nobody
VERBS

# Lists and counts of nothing are empty, and no failure.
while read -r verb; do
    ends 0 tackle $verb
done <<'VERBS'
ads report nobody
bits count nobody
blist length nobody
board count nobody
board top nobody
book complete nobody a
chat list nobody
geo within nobody u4
log recent nobody
mail unread nobody
online count nobody
online users nobody
queue schedules nobody
recent find nobody
service list nobody
session list nobody
suggest hint nobody a
unique count nobody
VERBS

# A queue that has only settings, or a lock that is only waited for, is there.
ends 0 tackle queue limit settings --dead-max 5
ends 0 tackle queue limit settings
ends 0 tackle queue stats settings
ends 0 tackle queue drop settings --yes
ends 0 tackle queue schedule settings tick --every 1h x
ends 0 tackle queue list --json
is "listed" "$(jq -c '[.[] | [.name, .partitions]]' <<<"$out")" '[["settings",1]]'
ends 0 tackle queue stats settings
ends 0 tackle queue drop settings --yes
ends 1 tackle queue stats settings

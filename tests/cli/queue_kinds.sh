#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Kinds of jobs: `queue push --kind`, `queue work --on KIND=COMMAND`.
. "$(dirname "$0")/lib.bash"
start_server

push() { tackle queue push "$@" >/dev/null || fail "push $*"; }
stat_of() { tackle queue stats "$1" --json | jq -c "$2"; }

# ---- Seen everywhere ------------------------------------------------------------------------------

id=$(tackle queue push seen x --kind resize --meta m --group g)
is "peek" "$(tackle queue peek seen --json | jq -c '.[0] | [.kind, .payload, .meta, .group]')" '["resize","x","m","g"]'
ends 0 tackle queue peek seen
has "$out" KIND
has "$out" resize
ends 0 tackle queue show seen "$id"
has "$out" resize
is "claim" "$(tackle queue claim seen --json | jq -c .kind)" '"resize"'
push plain x
is "no kind" "$(tackle queue peek plain --json | jq -c '.[0].kind')" null
ends 0 tackle queue peek plain
lacks "$out" KIND
ends 0 tackle queue schedule seen nightly tidy --cron '0 2 * * *' --kind tidy
is "schedules" "$(tackle queue schedules seen --json | jq -c '.[0].kind')" '"tidy"'

# ---- A command for each kind ----------------------------------------------------------------------

printf '#!/bin/sh\necho "$TACKLE_KIND with $# arguments: $1 $2: $(cat)"\n' >"$home/a script"
chmod +x "$home/a script"
push mixed one --kind shout
push mixed two --kind script
push mixed three
push mixed four --kind other
export WORD='two words'
ends 0 tackle queue work mixed --drain --on 'shout=tr a-z A-Z' --on "script='$home/a script' \"\$WORD\" b" \
    -- sh -c 'echo "other: ${TACKLE_KIND-none}: $(cat)"'
is "each has its own" "$out" $'ONEscript with 2 arguments: two words b: two\nother: none: three\nother: other: four'
is "all done" "$(stat_of mixed .done)" 4

# Without a command after --, jobs of other kinds fail, and say why.
push mixed one --kind cat
push mixed two --kind unheard-of --retries 0
push mixed three --retries 0
ends 1 tackle queue work mixed --drain --on cat=cat
is "the one" "$out" one
has "$err" "attempt 1 of 1: no command for the kind 'unheard-of'"
has "$err" 'attempt 1 of 1: no command for jobs without a kind'
is "dead letters" "$(tackle queue dead mixed --json | jq -c 'sort_by(.payload) | map([.kind, .error])')" \
    "[[null,\"no command for jobs without a kind\"],[\"unheard-of\",\"no command for the kind 'unheard-of'\"]]"
ends 0 tackle queue dead mixed
has "$out" unheard-of

# With several threads and as JSON.
for i in {1..10}; do push many $i --kind a; push many $i --kind b; done
tackle queue work many --drain --threads 4 --json --on a=true --on b=true >"$home/ends" || fail "many"
is "JSON says the kind" "$(jq -sc 'group_by(.kind) | map([.[0].kind, .[0].outcome, length])' <"$home/ends")" '[["a","done",10],["b","done",10]]'

# ---- Wrong arguments ------------------------------------------------------------------------------

ends 64 tackle queue push mixed x --kind 'two words'
has "$err" "letters, digits"
ends 64 tackle queue push mixed x --kind "$(printf '%065d' 0)"
ends 0 tackle queue push mixed x --kind "$(printf '%064d' 0)"
ends 64 tackle queue work mixed --drain
has "$err" "which command?"
ends 64 tackle queue work mixed --drain true
has "$err" "which command?"
for on in cat =cat cat= 'cat= ' 'cat=cat | wc' 'cat=$(date)' 'cat="cat' 'cat=cat; ls' 'cat=cat >file'; do
    ends 64 tackle queue work mixed --drain --on "$on"
    has "$err" "invalid --on"
done
ends 64 tackle queue work mixed --drain --on 'a b=cat'
has "$err" "letters, digits"
ends 64 tackle queue work mixed --drain --on cat=cat --on cat=cat
has "$err" "two handlers"
ends 64 tackle queue work mixed --drain $(printf -- '--on k%d=cat ' {1..101})
has "$err" "at most 100"

echo "queue kinds: all good"

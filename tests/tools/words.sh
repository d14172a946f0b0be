#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A static function says its subject: claim_next(), not claim(). A name that stands in twelve files
# cannot be searched for, and tells a reader nothing. A comment begins with its subject, too. The
# glossary of docs/ARCHITECTURE.md has the words that mean one thing each.
set -u
cd "$TACKLE_SOURCE" || exit 1

# Verbs that say nothing without their subject.
vague='accept|add|adopt|allocate|answer|append|ask|attach|attempt|await|begin|begins|call|check|claim'
vague+='|clear|collect|combine|command|commit|compare|conclude|copy|create|cut|decide|deliver|detach|dial|draw'
vague+='|drop'
vague+='|end|enlist|enter|equal|explain|fail|fetch|fill|find|finish|flush|forget|gather|get|grow|handle'
vague+='|has|heed|insert|install|invoke|join|judge|keep|leave|list|listen|load|locate|look|loop|lost'
vague+='|make|measure|merge|note|number|parse|place|prepare|probe|put|read|reach|record|refill|refresh'
vague+='|refuse|release|remember|remove|renew|repeat|report|reserve|run|same|send|set|settle|show|skip'
vague+='|start|step|stop|sum|take|tell|turn|unpack|update|verify|visit|walk|watch|work|write'

# Words that the code does not use for its types, with the word that it uses. A search index has
# shards.
types='trip:batch inquiry:query shard:partition'
shards='^src/search/'

check() {
    local failed=0 found rest
    while IFS=: read -r found rest; do
        echo "$found: static $rest() does not say its subject: name what it works on, ${rest}_..."
        failed=1
    done < <(awk -v vague="^($vague)\$" '
        /^static [^=;(]*[ *][a-z0-9]+\(/ {
            name = $0
            sub(/\(.*/, "", name)
            sub(/.*[ *]/, "", name)
            if (name ~ vague) printf "%s line %d:%s\n", FILENAME, FNR, name
        }' "$@")
    for rest in $types; do
        found=$(grep -nE "typedef struct (tkl__)?([a-z_]+_)?${rest%:*} \{" "$@" /dev/null |
            grep -vE "$shards.*_shard \{") || continue
        echo "$found: a ${rest%:*} is called ${rest#*:} here"
        failed=1
    done
    return $failed
}

# A line is a line of waiters. Variables that hold text have another name: `text`, `row`.
check_lines() {
    ! awk '
        /^(static )?int tkl_|^ *\/?\*/ { next } # public functions keep the names of their headers
        /(char|tkl_bytes) \**line[^_a-zA-Z(]/ || /char [^;(]*[ *]line[[,; ]/ {
            printf "%s line %d: a variable `line` holds text: a line is waiters here\n", FILENAME, FNR
            found = 1
        }
        END { exit !found }' "$@"
}

# Comments whose first word is no subject: "of each job", "what was sent". Lines that go on with a
# comment may begin with any word.
check_comments() {
    awk -v first='(Of|of|What|what|Those|One who|Who|Whoever|Whose|That which|For those)' '
        FNR == 1 { goes_on = 0 }
        {
            begins = match($0, "(/\\*+|(^|[ \t])--|(^|[ \t])//) (---- )?" first " ")
            alone = $0 ~ /^[ \t]*(--|\/\/)/
            if (begins && !(alone && goes_on)) {
                printf "%s line %d: the comment begins without its subject: say who does what\n",
                    FILENAME, FNR
                failed = 1
            }
            goes_on = alone
        }
        END { exit failed }' "$@"
}

# The check finds what it is meant to find.
wrong=$(mktemp)
trap 'rm -f "$wrong"' EXIT
printf 'static int *ask(const tkl_queue *queue,\n' >"$wrong"
check "$wrong" >/dev/null && { echo "the check finds no vague function"; exit 1; }
printf 'typedef struct tkl__queue_trip {\n' >"$wrong"
check "$wrong" >/dev/null && { echo "the check finds no forbidden type"; exit 1; }
printf 'static int ask_next(const tkl_queue *queue,\n' >"$wrong"
check "$wrong" || exit 1
for variable in '    char *line = NULL;' '    const char *at, *line;' 'static int f(tkl_bytes *line)'; do
    echo "$variable" >"$wrong"
    check_lines "$wrong" >/dev/null && { echo "the check accepts: $variable"; exit 1; }
done
for comment in 'int a; /* of each job */' 'local a = 1 -- of each job' '-- What was sent.'; do
    echo "$comment" >"$wrong"
    check_comments "$wrong" >/dev/null && { echo "the check accepts: $comment"; exit 1; }
done
printf -- '-- Scripts and texts\n-- of errors.\n' >"$wrong"
check_comments "$wrong" || exit 1

check_comments $(find src cli serve post web include examples tools bench -name '*.[ch]' -o \
    -name '*.lua' -o -name '*.js' | sort) || exit 1
check_lines $(find src cli serve -name '*.[ch]' | sort) || exit 1
check $(find src cli serve post tools bench tests/support -name '*.[ch]' | sort)

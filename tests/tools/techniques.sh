#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/techniques.md is true: every file that it names exists, its commands work without
# preparation, and its index has all of its entries. `techniques.sh --index` prints the index.
set -u
cd "$TACKLE_SOURCE" || exit 1
page=docs/techniques.md
failures=0

complain() {
    echo "$page: $1"
    failures=$((failures + 1))
}

# The entries, a line for each field: title, field, value.
entries() {
    awk '
        function put() { if (value != "") printf "%s\t%s\t%s\n", title, field, value; value = "" }
        /^## Index by command/ { put(); exit }
        /^### / { put(); title = substr($0, 5); next }
        /^- \*\*[^*]+:\*\* / {
            put()
            field = value = $0
            sub(/^- \*\*/, "", field); sub(/:\*\*.*/, "", field)
            sub(/^- \*\*[^*]+:\*\* /, "", value)
            next
        }
        /^  / && value != "" { value = value " " substr($0, 3); next }
        { put() }' "$page" | awk -F'\t' '$1 != ""'
}

# field NAME: title and value of each entry.
field() {
    awk -F'\t' -v name="$1" '$2 == name { print $1 "\t" $3 }' <<<"$entries"
}

sort_commands() {
    LC_ALL=C sort -t '`' -k 2,2
}

# "command: title; title", one line a command, sorted by command.
index_of_entries() {
    field Commands | awk -F'\t' '
        { n = split($2, names, ", "); for (i = 1; i <= n; i++) list[names[i]] = list[names[i]] "; " $1 }
        END { for (name in list) print "- `" name "`: " substr(list[name], 3) }' | sort_commands
}

index_of_page() {
    awk '/^## / { inside = $0 == "## Index by command" }
         inside && /^- / { if (line) print line; line = $0 }
         inside && /^  / { line = line " " substr($0, 3) }
         END { if (line) print line }' "$page" | sort_commands
}

entries=$(entries)
if [ "${1-}" = --index ]; then
    index_of_entries | fold -sw 98 | sed -E 's/ +$//; /^- `/! s/^/  /'
    exit
fi

# ---- Every entry is whole -----------------------------------------------------------------------

titles=$(grep -cE '^### ' <(sed '/^## Index by command/,$d' "$page"))
[ "$titles" -ge 60 ] || complain "only $titles techniques"
for name in "The naive way" tackle Read Try Commands; do
    [ "$(field "$name" | wc -l)" = "$titles" ] || complain "not every entry has '$name'"
done

while IFS=$'\t' read -r title value; do
    for path in $(grep -oE '`[^`]+`' <<<"$value" | tr -d '`'); do
        [ -f "$path" ] || complain "$title: $path is not there"
    done
done < <(field Read)

diff <(index_of_entries) <(index_of_page) >/tmp/tackle-index.$$ ||
    complain "the index is not that of the entries: $(cat /tmp/tackle-index.$$)"
rm -f /tmp/tackle-index.$$

# ---- The commands to try work -------------------------------------------------------------------

dir=$(mktemp -d /tmp/tackle-test.XXXXXX) # short: the path of a socket is limited
export TACKLE_URL=embedded:$dir/server?durability=none TACKLE_CONFIG=/dev/null
PATH=$TACKLE_BUILD:$PATH
trap 'tackle server stop >/dev/null 2>&1; rm -rf "$dir"' EXIT
tackle server start >/dev/null || exit 1
while IFS=$'\t' read -r title value; do
    command=$(sed -E 's/^`(.*)`$/\1/' <<<"$value")
    timeout 60 bash -c "cd '$dir' && $command" </dev/null >"$dir/out" 2>&1
    code=$?
    [ "$code" -le 1 ] || complain "$title: '$command' ended with $code: $(cat "$dir/out")"
done < <(field Try)

[ "$failures" = 0 ] || exit 1
echo "techniques: $titles, all good"

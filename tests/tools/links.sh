#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Links between the pages lead somewhere, the README leads to every page, and no line is too long.
set -u
cd "$TACKLE_SOURCE" || exit 1
failures=0

complain() {
    echo "$1"
    failures=$((failures + 1))
}

# The targets of all links of a page, except links to other sites. Code is no link.
targets() {
    sed -E '/^```/,/^```/d; s/`[^`]*`//g' "$1" | grep -oE '\]\([^) ]+\)' | sed -E 's/^\]\(//; s/\)$//' |
        grep -vE '^[a-z]+:'
}

# The anchors of a page, made of its headings as GitHub makes them.
anchors() {
    sed -nE '/^```/,/^```/d; s/^#+ +//p' "$1" | tr '[:upper:]' '[:lower:]' |
        sed -E "s/[^a-z0-9 _-]//g; s/ /-/g"
}

for page in README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md docs/*.md; do
    while read -r target; do
        file=${target%%#*} anchor=
        [[ $target == *#* ]] && anchor=${target#*#}
        path=$page
        [ -z "$file" ] || path=$(dirname "$page")/$file
        [ -e "$path" ] || complain "$page: $target is not there"
        [ -z "$anchor" ] || anchors "$path" | grep -qxF "$anchor" ||
            complain "$page: $target has no such heading"
    done < <(targets "$page")
done

# tools/translations follows the links of translated pages.
for page in *.md docs/*.md docs/zh/*.md; do
    while IFS=: read -r line text; do
        complain "$page:$line: more than 100 characters: ${text:0:60}..."
    done < <(LC_ALL=C.UTF-8 grep -nE '^.{101,}' "$page")
done

for page in docs/*.md; do
    grep -qF "($page)" README.md || complain "README.md does not lead to $page"
done
[ "$failures" = 0 ] || exit 1
echo "links: all good"

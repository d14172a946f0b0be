#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Every command that a script calls is in the "ACL SETUSER" of its component's page. The tests of
# the components try commands that C sends, and names that a script computes.
set -u
cd "$TACKLE_SOURCE" || exit 1

# page_of FOLDER: the page of the component that runs all scripts of src/FOLDER.
page_of() {
    case $1 in
    hold) echo lock.md ;;
    bits | unique) echo sketches.md ;;
    pipeline) echo script.md ;;
    post) echo chat.md ;; # a mailbox runs some of them
    *) echo "$1.md" ;;
    esac
}

# user_of FOLDER: the user whose list it is, on a page with several.
user_of() {
    case $1 in
    bits) echo bitmaps ;;
    unique) echo uniques ;;
    *) echo '[a-z]*' ;;
    esac
}

# called_by FILE...: the commands of these scripts and of what they include.
called_by() {
    local included
    included=$(sed -n 's|^ *-- include: \([a-z]*/.*\)|src/\1.inc.lua|p' "$@" | sort -u)
    grep -ohE "redis\.p?call\( *'[A-Z]+" "$@" $included | sed "s/.*'//" | sort -u | tr A-Z a-z
}

# allowed_by PAGE USER: the commands of the list, without subcommands.
allowed_by() {
    sed -n "/^ACL SETUSER $2 /,/^\`\`\`/p" "docs/$1" | grep -oE '\+[a-z]+' | tr -d + | sort -u
}

# check FOLDER PAGE USER
check() {
    local missing
    [ -n "$(allowed_by "$2" "$3")" ] || { echo "docs/$2 has no list for src/$1"; return 1; }
    missing=$(comm -23 <(called_by src/"$1"/*.lua) <(allowed_by "$2" "$3"))
    [ -z "$missing" ] || { echo "docs/$2 lacks, for src/$1:" $missing; return 1; }
    checked=$((checked + 1))
}

checked=0 failed=0
for folder in $(cd src && find . -name '*.lua' ! -name '*.inc.lua' | cut -d/ -f2 | sort -u); do
    check "$folder" "$(page_of "$folder")" "$(user_of "$folder")" || failed=1
done

# The check finds what it is meant to find: locks need more than bitmaps do.
(check hold sketches.md bitmaps) >/dev/null && { echo "the check finds nothing"; exit 1; }
echo "$checked lists"
[ $failed -eq 0 ] && [ $checked -gt 20 ]

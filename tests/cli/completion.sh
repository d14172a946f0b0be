#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# bash completion offers what the tables have.
. "$(dirname "$0")/lib.bash"
. "$TACKLE_SOURCE/cli/completion.bash"
compopt() { :; } # only works while completing for real

# offers "tackle ser" WORD...: exactly these, in any order. The last word is at the cursor.
offers() {
    local line=$1 expected
    shift
    expected=$(printf '%s\n' "$@" | sort)
    read -ra COMP_WORDS <<<"$line"
    [[ $line == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _tackle
    is "completion of '$line'" "$(printf '%s\n' "${COMPREPLY[@]}" | sort)" "$expected"
}

# "=" is a word of its own, as bash splits it.
offers "tackle ser" server
offers "tackle server st" start stop status
offers "tackle server sta" start status
offers "tackle --json server stat" status
offers "tackle --url redis://x server stat" status
offers "tackle --url = redis://x server stat" status
offers "tackle server start --dur" --durability
offers "tackle server start --durability " none snapshot lazy everysec always
offers "tackle server start --durability e" everysec
offers "tackle server start --durability = e" everysec
offers "tackle server start --durability =" none snapshot lazy everysec always
offers "tackle server start --durability none --j" --json
offers "tackle limit check --algorithm w" window window-approx
offers "tackle server stop --dur" ""
offers "tackle --ver" --version
offers "tackle call --r" --raw --readable
offers "tackle ping --ur" --url
offers "tackle nonsense x" ""
offers "tackle help ser" server
offers "tackle help server sto" stop
offers "tackle demo pi" ping

read -ra all <<<"$(every_verb | awk '{ print $1 }' | uniq | tr '\n' ' ')"
offers "tackle " "${all[@]}"
lacks "$(tackle help --completion)" "--man"

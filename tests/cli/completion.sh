#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# bash completion offers what the tables have.
. "$(dirname "$0")/lib.bash"
. "$TACKLE_SOURCE/cli/completion/tackle.bash"
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
offers "tackle serve" serve server
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
offers "tackle server f" functions
offers "tackle server functions --re" --remove-old
offers "tackle limit check --algorithm w" window window-approx
offers "tackle server stop --dur" ""
offers "tackle --ver" --version
offers "tackle call --r" --raw --readable
offers "tackle ping --ur" --url
offers "tackle nonsense x" ""
offers "tackle help serve" serve server
offers "tackle help server sto" stop
offers "tackle demo pi" ping

read -ra all <<<"$(every_verb | awk '{ print $1 }' | uniq | tr '\n' ' ')"
offers "tackle " "${all[@]}"
lacks "$(tackle help --completion)" "--man"

# Completion offers names of the server, and starts no server for them.
offers "tackle queue stats " ""
[ ! -e "$XDG_DATA_HOME/tackle/socket" ] || fail "completion has started a server"
start_server
tackle queue push mails x >/dev/null
offers "tackle queue stats m" mails
socket=$(tackle server status --json | jq -r .socket)
TACKLE_URL= XDG_DATA_HOME=$home/none REDIS_URL=unix://$socket offers "tackle queue stats m" mails

# The other shells, where they are.
if command -v fish >/dev/null; then
    fish_offers() {
        fish --no-config -c "source '$TACKLE_SOURCE/cli/completion/tackle.fish'; complete -C '$1'" |
            cut -f1 | sort | tr '\n' ' '
    }
    is "fish" "$(fish_offers 'tackle server st')" "start status stop "
    is "fish: options" "$(fish_offers 'tackle server start --dur')" "--durability "
    is "fish: names" "$(fish_offers 'tackle queue stats m')" "mails "
fi
if command -v zsh >/dev/null; then
    zsh_offers() { # what the function would add, for the words given
        zsh -f -c 'compadd() { shift; print -l -- $@ }; _files() { : }; words=("$@"); CURRENT=$#words
            source "$0"' "$TACKLE_SOURCE/cli/completion/_tackle" "$@" | sort | tr '\n' ' '
    }
    has "$(zsh_offers tackle server '')" "start status stop "
    has "$(zsh_offers tackle server start --)" "--durability "
    has "$(zsh_offers tackle queue stats '')" "mails "
fi

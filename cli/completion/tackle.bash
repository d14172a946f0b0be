# SPDX-License-Identifier: MIT
#
# bash completion of tackle. What there is to complete comes from the command itself, once per
# shell: `tackle help --completion` prints "COMPONENT VERB OPTION...", "-" where there is none.

# Prints the words after the first two of the line of a component and a verb.
_tackle_options() {
    local component verb options
    while read -r component verb options; do
        [[ $component == "$1" && $verb == "$2" ]] && printf "%s\n" $options
    done <<<"$_tackle_table"
}

# Prints the verbs of a component; "-" when it is a command by itself.
_tackle_verbs() {
    local component verb _
    while read -r component verb _; do
        [[ $component == "$1" ]] && printf '%s\n' "$verb"
    done <<<"$_tackle_table"
}

_tackle_components() {
    local component _
    while read -r component _; do
        [[ $component != - ]] && printf '%s\n' "$component"
    done <<<"$_tackle_table" | uniq
}

# Finds what was typed before the cursor: sets component, verb, topic (the last argument) and, when
# the word before the cursor wants a value, option.
_tackle_read_words() {
    local i word all
    component="" verb="" option="" topic=""
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        option=""
        if [[ $word == --* ]]; then
            [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
            all=$(_tackle_options - -; _tackle_options "$component" "${verb:--}")
            if [[ $'\n'$all == *$'\n'"$word="* ]]; then
                option=$word
                ((i++))
            fi
        elif [[ -z $component ]]; then
            component=$word
            [[ $(_tackle_verbs "$component") == - ]] && verb=-
        elif [[ -z $verb ]]; then
            verb=$word
        else
            topic=$word
        fi
    done
    # The value is still being typed only when it is the word at the cursor.
    ((i > COMP_CWORD)) || option=""
}

# Prints the names of what a component has on the server. Starts no private server for that.
_tackle_names() {
    [[ $(_tackle_verbs "$1") == *list* ]] || return
    [[ -n ${TACKLE_URL-}${REDIS_URL-} ]] || "${COMP_WORDS[0]}" server status >/dev/null 2>&1 || return
    "${COMP_WORDS[0]}" --timeout 500ms "$1" list 2>/dev/null | awk 'NR > 1 { print $1 }'
}

# The choices of an option's value, or files when there are none.
_tackle_values() {
    local all choices
    all=$(_tackle_options "$component" "$verb"; _tackle_options - -)
    choices=${all#*"$option="}
    choices=${choices%%$'\n'*}
    if [[ -n $choices ]]; then
        COMPREPLY=($(compgen -W "${choices//|/ }" -- "$1"))
    else
        compopt -o default 2>/dev/null
    fi
}

_tackle() {
    local word=${COMP_WORDS[COMP_CWORD]} component verb option topic
    COMPREPLY=()
    [[ -n ${_tackle_table-} ]] || _tackle_table=$("${COMP_WORDS[0]}" help --completion 2>/dev/null)
    _tackle_read_words
    [[ $word == = ]] && word=
    if [[ -n $option ]]; then
        _tackle_values "$word"
    elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$(_tackle_options "$component" "$verb" | sed 's/=.*//'
            _tackle_options - - | sed 's/=.*//')" -- "$word"))
    elif [[ -z $component || (-z $topic && $component == @(help|demo)) ]]; then
        COMPREPLY=($(compgen -W "$(_tackle_components)" -- "$word"))
    elif [[ $component == help ]]; then
        COMPREPLY=($(compgen -W "$(_tackle_verbs "$topic")" -- "$word"))
    elif [[ -z $verb ]]; then
        COMPREPLY=($(compgen -W "$(_tackle_verbs "$component")" -- "$word"))
    elif [[ -z $topic ]]; then
        COMPREPLY=($(compgen -W "$(_tackle_names "$component")" -- "$word"))
        compopt -o default 2>/dev/null
    else
        compopt -o default 2>/dev/null
    fi
}

complete -F _tackle tackle

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The public headers keep the pattern that docs/client.md describes, as far as a script can see.
set -u
cd "$TACKLE_SOURCE/include/tackle" || exit 1
failures=0

headers=$(ls ./*.h | sed 's,./,,')

complain() {
    echo "$1"
    failures=$((failures + 1))
}

# One declaration a line, without comments: "header declaration;".
declarations() {
    for header in $headers; do
        sed -E ':a; s,/\*[^*]*\*+([^/*][^*]*\*+)*/,,g; /\/\*/ { N; ba }' "$header" | grep -v '^#' |
            tr '\n' ' ' | sed -E 's/[[:space:]]+/ /g; s/\} *(tkl_[a-z_]+);/}\1;\n/g' |
            grep -oE '(TKL_API [^;]*;|typedef (struct|enum) [a-z_]+ \{[^}]*\}[a-z_]+;)' |
            sed "s/^/$header /"
    done
}

name_of() {
    grep -oE '^typedef struct [a-z_]+' <<<"$1" | cut -d' ' -f3
}

all=$(declarations)
functions=$(grep ' TKL_API ' <<<"$all")
structs=$(grep ' typedef struct ' <<<"$all")
enums=$(grep ' typedef enum ' <<<"$all")
[ "$(wc -l <<<"$functions")" -gt 200 ] || complain "only $(wc -l <<<"$functions") functions found"

# Raw replies belong to the client, and to scripts that users write.
while read -r header rest; do
    [[ $header == client.h || $header == script.h ]] || complain "$header: a raw reply: $rest"
done < <(grep 'tkl_reply \*\*' <<<"$functions")

# A handle that is opened with a client has options, and these a time-out.
while read -r header rest; do
    options=$(grep -oE 'const tkl_[a-z_]+_options' <<<"$rest" | cut -d' ' -f2)
    [ -n "$options" ] || complain "$header: no options: $rest"
    [[ $(grep "typedef struct $options {" <<<"$structs") == *timeout_ms* ]] ||
        complain "$header: $options: no timeout_ms"
done < <(grep -E 'int tkl_[a-z_]+_open\(tkl_client ' <<<"$functions")

# Structs can grow: by reserved words (8 in options), or because the library makes them; or they are
# frozen.
while read -r header rest; do
    [[ $rest =~ TKL_RESERVED\(8\) ]] || complain "$header: $(name_of "$rest"): no TKL_RESERVED(8)"
    [[ $rest == *" timeout_ms;"* ]] || complain "$header: $(name_of "$rest"): no timeout_ms"
done < <(grep -E '_options \{' <<<"$structs")
while read -r header rest; do
    name=$(name_of "$rest")
    [[ $rest == *TKL_RESERVED* || $functions == *"$name **"* ]] ||
        grep -B5 -A8 "typedef struct $name {" "$header" | grep -qi 'frozen' ||
        complain "$header: $name cannot grow: no TKL_RESERVED, and it is not said to be frozen"
done < <(grep -vE '_options \{' <<<"$structs")

# (pointer, count) is never NONNULL: NULL with 0 is fine.
while read -r header rest; do
    attribute=$(grep -oE 'TKL_NONNULL\([^)]*\)' <<<"$rest" | tr -cd '0-9,')
    parameters=${rest#*\(}
    IFS=, read -ra list <<<"${parameters%%)*}"
    for i in "${!list[@]}"; do
        [[ ${list[i]} == *"size_t count"* && $i -gt 0 && ${list[i - 1]} == *"*"* ]] || continue
        [[ ,$attribute, == *,$i,* ]] && complain "$header: NONNULL on a pair: $rest"
    done
done < <(grep -E 'size_t count[,)]' <<<"$functions")

# Enumerators carry their type and a written value.
while read -r header rest; do
    [[ $rest == *"enum tkl_code "* ]] && continue
    body=${rest#*\{}
    while read -r word; do
        [[ $word =~ ^TKL_[A-Z0-9]+_[A-Z0-9_]+\ =\  ]] ||
            complain "$header: an enumerator without its type or value: $word"
    done < <(tr ',' '\n' <<<"${body%%\}*}" | sed -E 's/^ +| +$//g' | grep .)
done <<<"$enums"

# Every enum has names.
while read -r header rest; do
    type=$(grep -oE 'enum tkl_[a-z_]+' <<<"$rest" | cut -d' ' -f2)
    [ "$type" = tkl_code ] && continue # tkl_codename()
    grep -q "const char \*${type}_name($type " <<<"$functions" || complain "$header: no ${type}_name()"
done <<<"$enums"

# The compiler warns about ignored results, except where ignoring them is normal.
ignored='release|resign|refund|progress|stop|close|leave|reset|log_print|loop_cancel|worker_wait|tkl_call|pipeline_run|reply_code|_in\(tkl_pipeline'
while read -r header rest; do
    [[ $rest == *TKL_CHECK* || $rest =~ $ignored ]] || complain "$header: no TKL_CHECK: $rest"
done < <(grep 'TKL_API int tkl_' <<<"$functions")

# Each header says how threads, fork(), callbacks and keys are meant.
for header in $headers; do
    case $header in common.h | tackle.h | version.h | message.h | hold.h | cron.h | text.h) continue ;; esac
    for word in thread fork callback key; do
        sed '/^#ifndef/q' "$header" | grep -qi "$word" || complain "$header: says nothing of $word"
    done
done

# Functions that close or free take NULL, and say so.
while read -r header rest; do
    function=$(grep -oE 'tkl_[a-z_]+\(' <<<"$rest" | head -n 1)
    [[ $rest == *"$function"tkl_bytes* ]] ||
        grep -B 6 -A 1 -F "$function" "$header" | grep -q 'NULL is fine' ||
        complain "$header: $function is not said to take NULL"
done < <(grep -E '_(close|free)\(' <<<"$functions")

# Functions that show something give an object of its own, with one free.
while read -r header rest; do
    [[ $rest == *"**"* ]] ||
        complain "$header: a struct of the caller: let it give an object (**info) to be freed: $rest"
done < <(grep -E 'int tkl_[a-z_]+_show\(' <<<"$functions")

# Words that the pattern has replaced.
while read -r header rest; do
    complain "$header: an old word: $rest"
done < <(grep -E 'tkl_[a-z_]+_(destroy|clear|extend|bury|many)\(' <<<"$functions")

[ "$failures" -eq 0 ] || {
    echo "$failures complaints"
    exit 1
}

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Compares the places of the fields of every public struct with tests/tools/layout.txt, and so finds
# changes that would break programs that were built before. After an intended change:
#
#     TACKLE_SOURCE=. TACKLE_BUILD=build bash tests/tools/layout.sh --update
set -u
list=$TACKLE_SOURCE/tests/tools/layout.txt
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the list is for x86_64"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "struct field" for each field of each struct, and "struct" alone for each.
fields() {
    for header in "$TACKLE_SOURCE"/include/tackle/*.h; do
        sed -E ':a; s,/\*[^*]*\*+([^/*][^*]*\*+)*/,,g; /\/\*/ { N; ba }' "$header" | grep -v '^#' |
            tr '\n' ' ' | sed -E 's/[[:space:]]+/ /g; s/\} *(tkl_[a-z_]+);/}\1;\n/g' |
            sed -nE 's/.*typedef struct ([a-z_]+) \{([^}]*)\}.*/\1 \2/p'
    done | while read -r name body; do
        echo "$name"
        tr ';' '\n' <<<"$body" | sed -E "
            s/TKL_RESERVED\([0-9]+\)/x reserved/
            s/^.*\(\*([a-z_]+)\)\(.*/x \1/
            s/\[[^]]*\]//g; s/[*]//g; s/, */ ,/g
            s/^ *| *$//g; /^$/d
            s/^.* ([a-z_0-9]+)(( ,[a-z_0-9]+)*)$/\1\2/; s/ ,/\n/g" | sed "s/^/$name /"
    done
}

program() {
    echo '#include <stddef.h>'
    echo '#include <stdio.h>'
    echo '#include <tackle/tackle.h>'
    echo 'int main(void) {'
    fields | while read -r name field; do
        if [ -z "$field" ]; then
            echo "printf(\"$name %zu\\n\", sizeof($name));"
        else
            echo "printf(\"$name.$field %zu\\n\", offsetof($name, $field));"
        fi
    done
    echo '}'
}

program >"$work/layout.c"
"${CC:-cc}" -I"$TACKLE_SOURCE/include" -I"$TACKLE_BUILD/include" -o "$work/layout" "$work/layout.c" || exit 1
"$work/layout" >"$work/now"
[ "$(wc -l <"$work/now")" -gt 300 ] || { echo "only $(wc -l <"$work/now") lines"; exit 1; }
if [ "${1-}" = --update ]; then
    cp "$work/now" "$list"
else
    diff -u "$list" "$work/now" || { echo "the layout has changed: see tests/tools/layout.sh"; exit 1; }
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The C snippets of the pages, and the examples at the top of public headers, compile without
# warnings when pasted. They need not check results or use each variable: they are short. Examples
# may call functions of the reader's own program.
#
# A snippet that defines a function stands at file level. Any other stands inside a function that
# has an open `tkl_client *client`. Errors name the page and line of the snippet.
set -u
cd "$TACKLE_SOURCE" || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

# Snippets of a page: blocks that are marked ```c.
page_snippets() {
    awk -v page="$1" -v out="$dir/$(basename "$1" .md)" '
        inside && /^```/ { inside = 0; close(file); next }
        inside { print > file }
        /^```c$/ {
            inside = 1
            file = sprintf("%s-%d.c", out, ++count)
            printf "#line %d \"%s\"\n", NR + 1, page > file
        }' "$1"
}

# The example of a header: lines of its first comment that are indented by four.
header_example() {
    awk -v header="$1" -v file="$dir/$(basename "$1" .h)-header.c" '
        /\*\/$/ { exit }
        /^ \*     / {
            if (!count++) printf "#line %d \"%s\"\n", NR, header > file
            else while (++line < NR) print "" > file
            line = NR
            print substr($0, 8) > file
        }' "$1"
}

defines_function() {
    grep -qx '{' "$1"
}

# The parameter of the function around a snippet: none if the snippet opens its own client.
parameter() {
    if grep -q 'tkl_client \*client;' "$1"; then echo void; else echo 'tkl_client *client'; fi
}

# Makes a whole program text of a snippet.
wrap() {
    printf '#include <%s>\n' tackle/tackle.h pthread.h signal.h stdbool.h stdio.h stdlib.h string.h \
        syslog.h time.h unistd.h
    if defines_function "$1"; then
        cat "$1"
    else
        printf 'int snippet(%s)\n{\n' "$(parameter "$1")"
        cat "$1"
        printf '#line 1 "behind the snippet"\n(void)client;\nreturn 0;\n}\n'
    fi
}

for page in README.md docs/*.md; do
    page_snippets "$page"
done

for header in include/tackle/*.h; do
    header_example "$header"
done

compiles() {
    wrap "$1" >"$dir/whole"
    ${CC:-cc} -x c -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -Wno-unused-variable \
        -Wno-unused-but-set-variable -Wno-unused-function -Wno-unused-result \
        -Wno-error=implicit-function-declaration -fsyntax-only \
        -Iinclude -I"$TACKLE_BUILD/include" "$dir/whole" 2>"$dir/said" || return 1
    [[ $1 == *-header.c ]] && ! grep -q 'implicit declaration of function .tkl_' "$dir/said" && return
    [ ! -s "$dir/said" ]
}

count=0
for snippet in "$dir"/*.c; do
    count=$((count + 1))
    compiles "$snippet" && continue
    cat "$dir/said"
    failures=$((failures + 1))
done
[ "$count" -ge 30 ] || { echo "only $count snippets found"; exit 1; }
[ "$failures" = 0 ] || { echo "$failures of $count snippets do not compile"; exit 1; }
echo "snippets: $count compile"

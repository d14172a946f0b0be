#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The C snippets of the pages, and the examples at the top of public headers, compile without
# warnings when pasted: they check results as programs should (TKL_TRY is the short way). Examples
# of headers may call functions of the reader's own program. They are run as well: no function of
# the library may fail in them.
#
# A snippet that defines a function stands at file level. Any other stands inside a function that
# has an open `tkl_client *client`. Errors name the page and line of the snippet.
set -u
cd "$TACKLE_SOURCE" || exit 1
dir=$(mktemp -d /tmp/tackle-test.XXXXXX) # short: the path of a socket is limited
trap 'stop_server; rm -rf "$dir"' EXIT
failures=0

stop_server() {
    [ ! -d "$dir/server" ] || "$TACKLE" --url "embedded:$dir/server" server stop >"$dir/stopped" 2>&1
}

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

# Makes a program of a snippet.
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
    ${CC:-cc} -x c -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -Wno-unused-function \
        -Wno-error=implicit-function-declaration -S -o /dev/null \
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

# ---- Running the examples of headers ----------------------------------------------------------

# The library of a sanitizer build cannot be linked with an ordinary program.
[ -z "${TACKLE_SANITIZE:-}" ] || exit 0

# Examples that are not run: they need servers, files, functions or signals of their own, or have no
# client.
needs_more() {
    [[ $1 =~ ^(cache|client|files|loop|redlock|worker)$ ]]
}

# Wraps each call of a function that returns a code, so that the code is checked.
checks() {
    cat <<'EOF'
static int failures;
static int checked(const char *name, int code)
{
    if (code < 0) {
        fprintf(stderr, "%s: %s: %s\n", name, tkl_codename(code), tkl_errmsg());
        failures++;
    }
    return code;
}
EOF
    grep -ohE '^TKL_API int tkl_[a-z_0-9]+' include/tackle/*.h | cut -d' ' -f3 |
        sed 's/.*/#define &(...) checked("&", (&)(__VA_ARGS__))/'
}

# Functions of the reader's program, which the example calls: they do nothing, and succeed.
stubs() {
    grep -oE 'implicit declaration of function .[a-z_]+' "$dir/said" | grep -oE '[a-z_]+$' | sort -u |
        sed 's/.*/int &() { return 1; }/'
}

# program EXAMPLE: makes $dir/program of an example.
program() {
    compiles "$1" || return 1
    stubs >"$dir/stubs.c"
    wrap "$1" | awk -v checks="$dir/checks" '
        !done && /^int snippet|^#line/ { while ((getline line < checks) > 0) print line; done = 1 }
        { print }' >"$dir/program.c"
    cat >>"$dir/program.c" <<'EOF'
int main(int argc, char **argv)
{
    tkl_client *client = NULL;
    if (argc == 2 && tkl_open(argv[1], NULL, &client) == TKL_OK)
        snippet(client);
    fflush(stdout);
    _exit(failures > 0 || client == NULL); /* examples close little */
}
EOF
    ${CC:-cc} -std=gnu11 -w -Wno-error=implicit-function-declaration -Iinclude \
        -I"$TACKLE_BUILD/include" -o "$dir/program" "$dir/program.c" "$dir/stubs.c" \
        -L"$TACKLE_BUILD" -ltackle -Wl,-rpath,"$TACKLE_BUILD"
}

checks >"$dir/checks"
ran=0
for example in "$dir"/*-header.c; do
    name=$(basename "$example" -header.c)
    needs_more "$name" && continue
    ran=$((ran + 1))
    program "$example" && timeout 60 "$dir/program" "embedded:$dir/server" >"$dir/out" && continue
    echo "include/tackle/$name.h: the example does not run"
    failures=$((failures + 1))
done
[ "$ran" -ge 25 ] || { echo "only $ran examples found"; exit 1; }
[ "$failures" = 0 ] || exit 1
echo "examples of headers: $ran run"

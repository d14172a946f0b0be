#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The man page says what the tables say. After a change to them: UPDATE=1 makes it so.
. "$(dirname "$0")/lib.bash"
page=$TACKLE_SOURCE/docs/man/tackle.1

# The part between the marks is the command's own description.
with_description() {
    sed '/^\.\\" begin: tackle help --man/q' "$page"
    tackle help --man
    sed -n '/^\.\\" end: tackle help --man/,$p' "$page"
}

with_description >"$home/page"
if [ -n "${UPDATE-}" ]; then
    cp "$home/page" "$page"
fi
diff -u "$page" "$home/page" ||
    fail "docs/man/tackle.1 is out of date; refresh it: UPDATE=1 TACKLE=build/tackle TACKLE_SOURCE=. tests/cli/man.sh"

while read -r component verb; do
    grep -qF "tackle $component${verb:+ $verb}" "$page" || fail "$component $verb is missing"
done < <(every_verb)

if command -v man >/dev/null; then
    is "warnings" "$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" 2>&1 >/dev/null)" ""
    text=$(LC_ALL=C.UTF-8 MANWIDTH=80 man -l "$page" | sed 's/.\x08//g')
    has "$text" "TACKLE_URL"
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The example in every verb's help works when it is pasted, with nothing set up. It does no harm when
# TACKLE_URL names a server with data: it removes only its own data as a whole.
#
# ctest: cost 40
. "$(dirname "$0")/lib.bash"

while read -r component verb; do
    example=$(tackle help $component $verb | sed -n '/^Example$/,/^$/{/^  /s/^  //p}')
    [ -n "$example" ] || fail "$component $verb has no example"
    tackle server stop >/dev/null 2>&1
    ends 0 sh -ec "$example"
    [ -n "$out" ] || fail "$component $verb: the example shows nothing"
    is "$component $verb: what is removed" \
        "$(grep -E ' (drop|drain|pause|dead|retry) ' <<<"$example" | grep -v ' tackle-example')" ""
done < <(every_verb)

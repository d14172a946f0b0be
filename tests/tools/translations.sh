#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The Chinese pages are true to the English ones; and tools/translations finds mistakes in a copy of
# the pages.
set -u
cd "$TACKLE_SOURCE" || exit 1
tools/translations || exit 1

dir=$(mktemp -d /tmp/tackle-test.XXXXXX)
trap 'rm -rf "$dir"' EXIT
failures=0

# Pages of the test: one with its translation, and one without.
made=$dir/made
mkdir -p "$made/tools" "$made/docs/zh"
cp tools/translations "$made/tools"
printf '# %s\n' tackle >"$made/README.md"
printf '# %s\n' 术语 >"$made/docs/zh/README.md"
printf '# Milk\n\n## Limits\n\nNone.\n' >"$made/docs/milk.md"
cat >"$made/docs/tea.md" <<'END'
# Tea

Hot. See [milk](milk.md#limits), and [the limits](#limits).

```c
tea(); /* hot */
```

```
cup -> mouth
```

## Limits

Two cups, or `--max`.

### More

Nothing.
END
cat >"$made/docs/zh/tea.md" <<'END'
# 茶

热的。参见[牛奶](milk.md#limits)和[上限](#limits)。

```c
tea(); /* 热的 */
```

```
杯 -> 嘴
```

## 上限

两杯，或 `--max`。

### 其他

没有。
END
"$made/tools/translations" stamp "$made/docs/zh/tea.md" || exit 1

# copy: makes a fresh copy of the pages, to be spoiled.
copy() {
    rm -rf "$dir/copy"
    cp -r "$made" "$dir/copy"
}

# finds TEXT: a check of the copy fails, and says that.
finds() {
    said=$("$dir/copy/tools/translations") && said="nothing is wrong"
    [[ $said == *"$1"* ]] && return
    printf 'expected: %s\nsaid: %s\n' "$1" "$said"
    failures=$((failures + 1))
}

# passes: a check of the copy finds nothing.
passes() {
    said=$("$dir/copy/tools/translations") && return
    printf 'expected: nothing\nsaid: %s\n' "$said"
    failures=$((failures + 1))
}

page=docs/zh/tea.md
copy && passes
grep -qF '[牛奶](../milk.md#limits)和[上限](#上限)' "$dir/copy/$page" || finds "repaired links"

copy && printf '# 牛奶\n\n## 上限\n\n没有。\n' >"$dir/copy/docs/zh/milk.md"
finds "../milk.md#limits should be milk.md#上限"
"$dir/copy/tools/translations" stamp "$dir/copy/docs/zh/milk.md" && passes

copy && sed -i 's/Two cups/Three cups/' "$dir/copy/docs/tea.md"
finds "$page:17: \"上限\": the section \"Limits\" of docs/tea.md has changed"
"$dir/copy/tools/translations" stamp "$dir/copy/$page" && passes

copy && sed -i 's/^Two cups/Two\ncups/' "$dir/copy/docs/tea.md" && passes
copy && printf '\n## New\n' >>"$dir/copy/docs/tea.md" && finds "3 headings, but docs/tea.md has 4"
copy && sed -i 's/^### More/## More/' "$dir/copy/docs/tea.md" && finds '"其他" has another level than "More"'
copy && sed -i '/^<!-- en/d' "$dir/copy/$page" && finds '"茶" has no stamp'
copy && sed -i 's/^tea();/milk();/' "$dir/copy/$page" && finds '"茶": code block 1 is not that of "Tea"'
copy && sed -i 's/^杯.*/杯\n嘴/' "$dir/copy/$page" && finds '"茶": code block 2 is not that of "Tea"'
copy && sed -i 's/^杯.*/cup -> nose/' "$dir/copy/$page" && finds '"茶": code block 2 is not that of "Tea"'
copy && sed -i 's/--max/--min/' "$dir/copy/$page" && finds '"上限" does not name `--max`'
copy && sed -i 's/^```c/```sh/' "$dir/copy/$page" && finds '"茶": code block 1 is not that of "Tea"'
copy && sed -i 's/milk.md/cream.md/' "$dir/copy/$page" && finds "../cream.md#limits leads nowhere"
copy && sed -i 's/milk.md#limits/milk.md#price/' "$dir/copy/$page" && finds "../milk.md#price leads nowhere"
copy && sed -i '/^\[中文\]/d' "$dir/copy/docs/tea.md" && finds "docs/tea.md does not link to $page at its top"
copy && sed -i 's/^两杯/两\n杯/' "$dir/copy/$page" && finds "the line ends within a sentence"
copy && sed -i 's/^两杯/**两，**杯/' "$dir/copy/$page" && finds '"两，" is not shown in bold'
copy && rm "$dir/copy/docs/tea.md" && finds "there is no docs/tea.md"

[ "$failures" = 0 ] || exit 1
echo "translations: the check finds what it should"

-- Prefixes, and the texts that each has.
-- include: keys

local prefixes = {}

-- A character of UTF-8: a first byte and its continuation bytes, from 80 to BF.
local CHARACTER = '^.[\128-\191]*'
local LAST_BYTE = 255
local PREFIXES_MAX = 32 -- most prefixes of a start (CODE_POINTS_MAX of starts.c)
-- Separates a start from its key when crowded prefixes do not keep the start. No key begins with 01
-- 01.
local UNLISTED = '\0\1\1'

-- A bound above everything that begins with the prefix, found in at most as many rounds as the
-- prefix has bytes.
function prefixes.above(prefix)
  local n = #prefix
  while n > 0 and string.byte(prefix, n) == LAST_BYTE do
    n = n - 1
  end
  if n == 0 then
    return '+'
  end
  return '(' .. string.sub(prefix, 1, n - 1) .. string.char(string.byte(prefix, n) + 1)
end

-- Calls visit(prefix) for each prefix of at most `reach` bytes that ends at a character, the
-- shortest first, until it returns false.
function prefixes.each(start, reach, visit)
  local length = 0
  for _ = 1, PREFIXES_MAX do
    local character = string.match(start, CHARACTER, length + 1)
    length = length + #(character or '')
    if not character or length > reach or not visit(string.sub(start, 1, length)) then
      return
    end
  end
end

-- Whether the list of a prefix may be the last one that keeps a start: the prefix is the whole
-- start, or has at least as many code points as the longest prefix has characters. `start` may be
-- nil.
function prefixes.may_be_last(prefix, start, longest)
  if prefix == start then
    return true
  end
  local _, inner = string.gsub(prefix, '[\128-\191]', '')
  return #prefix - inner >= longest
end

-- Returns how many starts begin with the prefix. A text may have several starts.
function prefixes.starts_with(prefix)
  return redis.call('ZLEXCOUNT', TEXTS, '[' .. prefix, prefixes.above(prefix))
end

-- The key in a member of TEXTS: "key NUL", "start NUL key" or "start UNLISTED key"; and whether it
-- is of the last kind.
function prefixes.key_of(member)
  local unlisted = string.match(member, '^[^%z]*%z\1\1(.*)$')
  if unlisted then
    return unlisted, true
  end
  local start, key = string.match(member, '^([^%z]*)%z(.*)$')
  if not start then
    return member, false -- not written by tackle
  end
  return key == '' and start or key, false
end

-- The first member of TEXTS between two bounds.
function prefixes.first_from(low, high)
  return redis.call('ZRANGE', TEXTS, low, high, 'BYLEX', 'LIMIT', 0, 1)[1]
end

-- Calls visit(character) for at most `most` characters that follow `base` in texts: jumps from each
-- to the next. Returns false when no text begins with `base`.
function prefixes.each_next(base, most, visit)
  local low, high = '[' .. base, prefixes.above(base)
  local any = false
  for _ = 1, most do
    local found = prefixes.first_from(low, high)
    if not found then
      return any
    end
    any = true
    local start = string.match(found, '^[^%z]*')
    local character = string.match(start, CHARACTER, #base + 1)
    if character then
      visit(character)
      low = string.gsub(prefixes.above(base .. character), '^%(', '[')
    else
      low = '[' .. base .. '\1'
    end
    if low == '+' then
      return any
    end
  end
  return any
end

-- Prefixes, and the texts that each has.

-- The bound above all that begins with the prefix. At most as many rounds as that has bytes.
local function above(prefix)
  local n = #prefix
  while n > 0 and string.byte(prefix, n) == 255 do
    n = n - 1
  end
  if n == 0 then
    return '+'
  end
  return '(' .. string.sub(prefix, 1, n - 1) .. string.char(string.byte(prefix, n) + 1)
end

local PREFIXES_MAX = 32 -- of a start (CODE_POINTS_MAX of starts.c)

-- Calls visit(prefix) for each prefix within `reach` bytes that ends with a character, the shortest
-- first, until it returns false.
local function each_prefix(start, reach, visit)
  local visited = 0
  for i = 1, math.min(reach, #start) do
    local next = string.byte(start, i + 1)
    if not next or next < 128 or next > 191 then
      visited = visited + 1
      if visited > PREFIXES_MAX or not visit(string.sub(start, 1, i)) then
        return
      end
    end
  end
end

-- How many starts begin with the prefix. A text may have several.
local function starts_with(prefix)
  return redis.call('ZLEXCOUNT', TEXTS, '[' .. prefix, above(prefix))
end

-- Stands between a start and its key when the start is not kept by crowded prefixes. No key begins
-- with 01 01.
local UNLISTED = '\0\1\1'

-- The key in a member of TEXTS: "key NUL", "start NUL key" or "start UNLISTED key". Also whether it
-- is of the last kind.
local function key_of(member)
  local nul = string.find(member, '\0', 1, true)
  if nul == #member then
    return string.sub(member, 1, -2), false
  end
  if string.sub(member, nul or 1, (nul or 1) + 2) == UNLISTED then
    return string.sub(member, nul + 3), true
  end
  return string.sub(member, (nul or 0) + 1), false
end

local function first_from(low, high)
  return redis.call('ZRANGE', TEXTS, low, high, 'BYLEX', 'LIMIT', 0, 1)[1]
end

-- Calls visit(character) for those with which texts go on behind `base`, `most` at most: jumps from
-- each to the next. Returns false when no text begins with `base`.
local function each_next(base, most, visit)
  local low, high = '[' .. base, above(base)
  local any = false
  for _ = 1, most do
    local found = first_from(low, high)
    if not found then
      return any
    end
    any = true
    local start = string.match(found, '^[^%z]*')
    local character = string.match(start, '^.[\128-\191]*', #base + 1)
    if character then
      visit(character)
      low = string.gsub(above(base .. character), '^%(', '[')
    else
      low = '[' .. base .. '\1'
    end
    if low == '+' then
      return any
    end
  end
  return any
end

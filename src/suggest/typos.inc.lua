-- Prefixes that texts have, one mistyped character away from another.
-- include: prefixes

local CHARACTERS_MIN, CHARACTERS_MAX = 3, 12 -- of a prefix that is corrected
local NEXT_MAX = 32      -- characters that are tried at a place
local CORRECTIONS = 5

local function characters_of(text)
  local characters = {}
  for character in string.gmatch(text, '[%z\1-\127\192-\255][\128-\191]*') do
    characters[#characters + 1] = character
  end
  return characters
end

local function first_from(low, high)
  return redis.call('ZRANGE', TEXTS, low, high, 'BYLEX', 'LIMIT', 0, 1)[1]
end

-- Calls visit(character) for those with which texts go on behind `base`, NEXT_MAX at most: jumps
-- from each to the next. Returns false when no text begins with `base`.
local function each_next(base, visit)
  local low, high = '[' .. base, above(base)
  local any = false
  for _ = 1, NEXT_MAX do
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

-- A list of prefixes.
local function corrections(prefix)
  local characters = characters_of(prefix)
  local n, found, tried = #characters, {}, {[prefix] = true}
  if n < CHARACTERS_MIN or n > CHARACTERS_MAX then
    return found
  end
  local function try(candidate)
    if #found < CORRECTIONS and not tried[candidate] then
      tried[candidate] = true
      if first_from('[' .. candidate, above(candidate)) then
        found[#found + 1] = candidate
      end
    end
  end
  for i = 1, n do
    local base = table.concat(characters, '', 1, i - 1)
    local rest = table.concat(characters, '', i + 1)
    if i < n then
      try(base .. characters[i + 1] .. characters[i] .. table.concat(characters, '', i + 2))
    end
    try(base .. rest)
    local any = each_next(base, function(character)
      try(base .. character .. rest)
      try(base .. character .. characters[i] .. rest)
    end)
    if not any then
      break
    end
  end
  return found
end

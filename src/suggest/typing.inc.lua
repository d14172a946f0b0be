-- Typing errors: prefixes that texts have, one mistyped character away from another.
-- include: prefixes

local typing = {}

local CHARACTERS_MIN, CHARACTERS_MAX = 3, 12 -- length of a prefix that is corrected
local NEXT_AT_ONCE = 32 -- most characters that are tried at one position
local CORRECTIONS = 5

-- The characters of a text.
function typing.characters_of(text)
  local characters = {}
  for character in string.gmatch(text, '[%z\1-\127\192-\255][\128-\191]*') do
    characters[#characters + 1] = character
  end
  return characters
end

-- The prefixes of texts that are one mistyped character away from this one.
function typing.corrections(prefix)
  local characters = typing.characters_of(prefix)
  local n, found, tried = #characters, {}, {[prefix] = true}
  if n < CHARACTERS_MIN or n > CHARACTERS_MAX then
    return found
  end
  local function try(candidate)
    if #found < CORRECTIONS and not tried[candidate] then
      tried[candidate] = true
      if prefixes.first_from('[' .. candidate, prefixes.above(candidate)) then
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
    local any = prefixes.each_next(base, NEXT_AT_ONCE, function(character)
      try(base .. character .. rest)
      try(base .. character .. characters[i] .. rest)
    end)
    if not any then
      break
    end
  end
  return found
end

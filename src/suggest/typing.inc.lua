-- Typing errors: prefixes of texts that are one mistyped character away from a given prefix.
-- include: entries
-- include: prefixes

local typing = {}

local CHARACTERS_MIN, CHARACTERS_MAX = 3, 12 -- length of a prefix that is corrected
local NEXT_AT_ONCE = 40 -- most characters that are tried at one position of a crowded prefix

-- The first characters of a text, at most `most`.
function typing.characters_of(text, most)
  local characters = {}
  for character in string.gmatch(text, '[%z\1-\127\192-\255][\128-\191]*') do
    if #characters == most then
      break
    end
    characters[#characters + 1] = character
  end
  return characters
end

-- Whether `n` characters of `list` from `i` on are the same as those of `other` from `k` on.
function typing.same_from(list, i, other, k, n)
  for place = 0, n - 1 do
    if list[i + place] ~= other[k + place] then
      return false
    end
  end
  return true
end

-- The part of a text that is one mistyped character away from the prefix; nil: none is. Both are
-- lists of characters.
function typing.corrected(typed, text)
  local n, at = #typed, 1
  -- At most n rounds.
  while at <= n and typed[at] == text[at] do
    at = at + 1
  end
  local length
  if text[at + 1] and typed[at + 1] == text[at] and typed[at] == text[at + 1]
    and typing.same_from(typed, at + 2, text, at + 2, n - at - 1) then
    length = n -- two are swapped
  elseif text[at] and typing.same_from(typed, at + 1, text, at + 1, n - at) then
    length = n -- a wrong one
  elseif typing.same_from(typed, at + 1, text, at, n - at) then
    length = n - 1 -- one too many
  elseif text[at] and typing.same_from(typed, at, text, at + 1, n - at + 1) then
    length = n + 1 -- one is missing
  end
  return length and table.concat(text, '', 1, length)
end

-- The prefixes of texts that are one mistyped character away from this one. Behind a beginning that
-- is crowded each character is tried. The few texts of another beginning are compared.
function typing.corrections(prefix)
  local typed = typing.characters_of(prefix)
  local n, found, tried = #typed, {}, {[prefix] = true}
  if n < CHARACTERS_MIN or n > CHARACTERS_MAX then
    return found
  end
  local function take(candidate)
    if candidate and not tried[candidate] then
      tried[candidate] = true
      found[#found + 1] = candidate
    end
  end
  local function try(candidate)
    if not tried[candidate] and
       prefixes.first_from('[' .. candidate, prefixes.above(candidate)) then
      take(candidate)
    end
  end
  for i = 1, n do
    local base, rest = table.concat(typed, '', 1, i - 1), table.concat(typed, '', i + 1)
    local texts = base ~= '' and redis.call('ZRANGE', TEXTS, '[' .. base, prefixes.above(base),
                                            'BYLEX', 'LIMIT', 0, CROWD + 1) or nil
    if texts and #texts <= CROWD then
      for _, text in ipairs(texts) do
        take(typing.corrected(typed, typing.characters_of(string.match(text, '^[^%z]*'), n + 1)))
      end
      break
    end
    if i < n then
      try(base .. typed[i + 1] .. typed[i] .. table.concat(typed, '', i + 2))
    end
    try(base .. rest)
    prefixes.each_next(base, NEXT_AT_ONCE, function(character)
      try(base .. character .. rest)
      try(base .. character .. typed[i] .. rest)
    end)
  end
  return found
end

-- The score of the heaviest text of a prefix.
function typing.heaviest_score(prefix)
  local low, high = entries.bounds(prefix)
  local best = redis.call('ZRANGE', BEST, high, low, 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
  if best then
    return entries.score_in(entries.tail_of(best, prefix)) or 0
  end
  local keys, most = {}, 0
  local texts = redis.call('ZRANGE', TEXTS, '[' .. prefix, prefixes.above(prefix), 'BYLEX',
                           'LIMIT', 0, CROWD)
  for i, text in ipairs(texts) do
    keys[i] = (prefixes.key_of(text))
  end
  for _, score in ipairs(#keys > 0 and redis.call('ZMSCORE', WEIGHTS, unpack(keys)) or {}) do
    most = math.max(most, tonumber(score or 0) or 0)
  end
  return most
end

-- The prefixes with the heaviest texts, at most `most`: the `most` heaviest texts of all begin with
-- one of these.
function typing.heaviest(list, most)
  if #list <= most then
    return list
  end
  local scores, heaviest = {}, {}
  for _, prefix in ipairs(list) do
    scores[prefix] = typing.heaviest_score(prefix)
  end
  table.sort(list, function(a, b) return scores[a] > scores[b] end)
  for i = 1, most do
    heaviest[i] = list[i]
  end
  return heaviest
end

-- Queries that mix characters, pinyin and initials ("zhangsf").
-- A mix is one way to read such a query: `initials`, with which a form of each entry that fits
-- begins, so that a range has all candidates; and `pattern`, which is compared with the letters of
-- an entry. These are the first line of its forms: for each character how it may be written.

local SOME = 50
local CANDIDATES_MAX = 500 -- of one request: a millisecond or so

-- The entry in a member of NAMES, if that is a form.
local function entry_of_form(member)
  return string.match(member, '%z\1\1%d+ (.*)$')
end

-- The entry in a member of PARTS.
local function entry_of_part(member)
  return string.match(member, '%z(.*)$')
end

-- Mixes as they are sent, three arguments each: initials, the bound above them, pattern.
local function read_mixes(arguments, first)
  local mixes = {}
  for i = first, #arguments, 3 do
    mixes[#mixes + 1] = {
      initials = arguments[i],
      above = arguments[i + 1],
      pattern = '^[\30\31]' .. arguments[i + 2], -- at the beginning
      inside = '^[^%z]-\31' .. arguments[i + 2], -- at any Chinese character
    }
  end
  return mixes
end

-- Those of the candidates that fit: calls visit(member, entry, forms) until it returns false. Returns
-- the candidate at which that was; else nil.
local function each_fitting(members, entry_in, pattern, visit)
  local entries, held = {}, {}
  for _, member in ipairs(members) do
    local entry = entry_in(member)
    if entry then
      entries[#entries + 1], held[#held + 1] = entry, member
    end
  end
  local forms = #entries > 0 and redis.call('HMGET', FORMS, unpack(entries)) or {}
  for i, entry in ipairs(entries) do
    if forms[i] and string.find(forms[i], pattern) and not visit(held[i], entry, forms[i]) then
      return held[i]
    end
  end
end

-- Goes through the candidates of a mix in `key`, behind `after` if that is not ''. `budget.left`:
-- candidates that may still be read. Returns nil at the end of the range, else the last candidate.
local function walk_mix(key, entry_in, mix, pattern, after, budget, visit)
  local low = after == '' and '[' .. mix.initials or '(' .. after
  for _ = 1, CANDIDATES_MAX / SOME do
    local members = redis.call('ZRANGE', key, low, mix.above, 'BYLEX', 'LIMIT', 0, SOME)
    budget.left = budget.left - #members
    local stopped = each_fitting(members, entry_in, pattern, visit)
    if stopped then
      return stopped
    end
    if #members < SOME then
      return nil
    end
    if budget.left <= 0 then
      return members[SOME]
    end
    low = '(' .. members[SOME]
  end
  return string.sub(low, 2)
end

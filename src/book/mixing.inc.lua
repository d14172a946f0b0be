-- Mixing: queries that mix characters, pinyin and initials ("zhangsf").
-- A mix is one way to read such a query. It has `initials`, with which a form of each fitting entry
-- begins, so that a range has all candidates; and `pattern`, which is compared with the letters of
-- an entry. The letters are the first row of its forms: how each character may be written.
-- include: keys

local mixing = {}

local SOME = 50 -- candidates that are read at once
local MIX_ARGUMENTS = 3 -- arguments of each mix
-- The cost limit of one request: about a millisecond. A candidate costs 1, and 1 more for each
-- BYTES of it and of its forms; a fitting candidate costs more. Most names cost 2.
local BUDGET = 1000
local BYTES = 250
local FIT_COST = 8

-- The entry in a member of NAMES that begins with `len` bytes of initials: an entry, or a form of
-- one. Nil when the key or a smaller form also begins with these bytes: then that is the candidate.
function mixing.entry_in_names(member, len)
  local shared, entry = string.match(member, '^[^%z]*%z\1\1(%d+) (.*)$')
  if not shared then
    return member
  end
  return tonumber(shared) < len and entry or nil
end

-- The entry in a member of PARTS. An entry may have several members.
function mixing.entry_in_parts(member)
  return string.match(member, '%z(.*)$')
end

-- Reads mixes from the arguments: initials, the bound above them, and a pattern for each.
function mixing.read(arguments, first)
  local mixes = {}
  for i = first, #arguments, MIX_ARGUMENTS do
    local initials, above, letters = unpack(arguments, i, i + MIX_ARGUMENTS - 1)
    mixes[#mixes + 1] = {
      initials = initials,
      above = above,
      pattern = '^[\30\31]' .. letters, -- at the beginning
      inside = '^[^%z]-\31' .. letters, -- at any Chinese character
    }
  end
  return mixes
end

-- Returns the candidates that have an entry, the entries, and their forms.
function mixing.read_forms(members, entry_in, len, budget)
  local held, entries = {}, {}
  for _, member in ipairs(members) do
    local entry = entry_in(member, len)
    if entry then
      held[#held + 1], entries[#entries + 1] = member, entry
    end
    budget.left = budget.left - 1 - #member / BYTES
  end
  local forms = #entries > 0 and redis.call('HMGET', FORMS, unpack(entries)) or {}
  for _, form in ipairs(forms) do
    budget.left = budget.left - #(form or '') / BYTES
  end
  return held, entries, forms
end

-- Visits the candidates that fit: calls visit(member, entry, forms) until it returns false, or the
-- budget is used up. Returns the candidate where it stopped; nil: at the end.
function mixing.each_fitting(held, entries, forms, pattern, budget, visit)
  for i, entry in ipairs(entries) do
    if forms[i] and string.find(forms[i], pattern) then
      budget.left = budget.left - FIT_COST
      if not visit(held[i], entry, forms[i]) or budget.left <= 0 then
        return held[i]
      end
    end
  end
end

-- Visits the candidates of a mix in `key`, behind `after` unless that is '', while there is budget
-- left. Returns nil at the end of the range, else the last candidate.
function mixing.walk(key, entry_in, mix, pattern, after, budget, visit)
  local low = after == '' and '[' .. mix.initials or '(' .. after
  for _ = 1, BUDGET / SOME do
    local members = redis.call('ZRANGE', key, low, mix.above, 'BYLEX', 'LIMIT', 0, SOME)
    local held, entries, forms = mixing.read_forms(members, entry_in, #mix.initials, budget)
    local stopped = mixing.each_fitting(held, entries, forms, pattern, budget, visit)
    if stopped then
      return stopped
    end
    if #members < SOME then
      return nil
    end
    after = members[SOME]
    if budget.left <= 0 then
      return after
    end
    low = '(' .. after
  end
  return after
end

-- book/complete: entries that begin with a query which may mix characters, pinyin and initials.
-- KEYS[1...] book   see keys.inc.lua
-- ARGV[1] settings  of the caller
-- ARGV[2] query     folded
-- ARGV[3] low       bound: members that begin with the query begin here; '': they were read before
-- ARGV[4] high      bound above these members
-- ARGV[5] fetch     how many of these members
-- ARGV[6] count     of answers
-- ARGV[7] mix       number of the mix to begin with
-- ARGV[8] after     the candidate behind which to begin; '': with the first
-- ARGV[9...] mixes  three for each: initials, bound above them, pattern
-- flags: no-writes
-- returns {members that begin with the query, members of mixes, mix where the next page begins or
--   0, candidate behind which it begins}, or the book's settings when the caller's differ
-- include: keys
-- include: book
-- include: mixing

local FIRST_MIX = 9 -- index of the first mix in the arguments
local settings, query, low, high, fetch, count, first_mix, after = unpack(ARGV)

local function begins(text, with)
  return string.sub(text, 1, #with) == with
end

-- A pattern for forms that begin with `with`. The caller removes the marks of syllables from the
-- forms first.
local function form_pattern(with)
  return '%z%d+ ' .. string.gsub(with, '%W', '%%%0')
end

local mixes = mixing.read(ARGV, FIRST_MIX)
for _, mix in ipairs(mixes) do
  mix.form = form_pattern(mix.initials)
end
local query_form = form_pattern(query)

-- Whether an entry that fits mix number `at` is an answer there: it fits no earlier mix, and does
-- not begin with the query itself.
local function is_answer(entry, forms, at)
  local plain = string.gsub(forms, '\31', '')
  if begins(entry, query) or string.find(plain, query_form) then
    return false
  end
  for i = 1, at - 1 do
    if string.find(forms, mixes[i].pattern)
      and (begins(entry, mixes[i].initials) or string.find(plain, mixes[i].form)) then
      return false
    end
  end
  return true
end

local other = book.other_settings(settings)
if other then
  return other
end
local plain = {}
if low ~= '' then
  plain = redis.call('ZRANGE', NAMES, low, high, 'BYLEX', 'LIMIT', 0, fetch)
end
local wanted = tonumber(count) - #plain
if wanted <= 0 then
  return {plain, {}, tonumber(first_mix), after}
end
local mixed, budget = {}, {left = BUDGET}
for at = tonumber(first_mix), #mixes do
  local mix = mixes[at]
  local function take(member, entry, forms)
    if is_answer(entry, forms, at) then
      mixed[#mixed + 1] = member
    end
    return #mixed < wanted
  end
  local last = mixing.walk(NAMES, mixing.entry_in_names, mix, mix.pattern, after, budget, take)
  if last then
    return {plain, mixed, at, last}
  end
  after = ''
  if budget.left <= 0 and at < #mixes then
    return {plain, mixed, at + 1, ''}
  end
end
return {plain, mixed, 0, ''}

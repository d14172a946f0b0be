-- book/complete: entries that begin with a query which may mix characters, pinyin and initials.
-- KEYS[1] meta      hash: settings
-- KEYS[2] names     sorted set by bytes: entries, and forms that point to them
-- KEYS[3] forms     hash: entry, its forms
-- ARGV[1] settings  of the caller
-- ARGV[2] query     folded
-- ARGV[3] low       bound: members that begin with the query begin here; '': they were read before
-- ARGV[4] high      bound: above all of them
-- ARGV[5] fetch     how many of them
-- ARGV[6] count     of answers
-- ARGV[7] mix       the mix to go on with
-- ARGV[8] after     the candidate behind which to go on; '': from the first
-- ARGV[9...] mixes  three for each: initials, bound above them, pattern
-- returns {members that begin with the query, members of mixes, mix to go on with or 0, candidate
--   behind which to go on}, or the book's settings when they are others

local META, NAMES, FORMS = KEYS[1], KEYS[2], KEYS[3]
-- include: mixed

local settings, query, low, high, fetch, count, first_mix, after = unpack(ARGV)
local stored = redis.call('HGET', META, 'settings')
if not stored and redis.call('ZCARD', NAMES) > 0 then
  return redis.error_reply('DAMAGED part of this book is gone from the server')
end
if stored and stored ~= settings then
  return stored
end

local plain = {}
if low ~= '' then
  plain = redis.call('ZRANGE', NAMES, low, high, 'BYLEX', 'LIMIT', 0, fetch)
end
local wanted = tonumber(count) - #plain
if wanted <= 0 then
  return {plain, {}, tonumber(first_mix), after}
end

local function begins(text, with)
  return string.sub(text, 1, #with) == with
end

-- The first form of an entry that begins so.
local function form_beginning(forms, with)
  for form in string.gmatch(forms, '%d+ ([^%z]+)') do
    local whole = string.gsub(form, '\31', '')
    if begins(whole, with) then
      return whole
    end
  end
end

local mixes = read_mixes(ARGV, 9)

-- Whether an entry is an answer of the mix `at`, at the candidate `member`. It is one of the first
-- mix that it fits, at the first of its forms; and of none when it begins with the query itself.
local function is_answer(member, entry, forms, at)
  if begins(entry, query) or form_beginning(forms, query) then
    return false
  end
  for i = 1, at - 1 do
    if string.find(forms, mixes[i].pattern) and form_beginning(forms, mixes[i].initials) then
      return false
    end
  end
  local form = form_beginning(forms, mixes[at].initials)
  return form and begins(member, form .. '\0')
end

local mixed, budget = {}, {left = CANDIDATES_MAX}
for at = tonumber(first_mix), #mixes do
  local mix = mixes[at]
  local function take(member, entry, forms)
    if is_answer(member, entry, forms, at) then
      mixed[#mixed + 1] = member
    end
    return #mixed < wanted
  end
  local last = walk_mix(NAMES, entry_of_form, mix, mix.pattern, after, budget, take)
  if last then
    return {plain, mixed, at, last}
  end
  after = ''
  if budget.left <= 0 and at < #mixes then
    return {plain, mixed, at + 1, ''}
  end
end
return {plain, mixed, 0, ''}

-- suggest/hint: the heaviest texts that begin with a prefix.
-- KEYS[1...] suggestions  see keys.inc.lua
-- ARGV[1] settings  of the caller
-- ARGV[2] prefix
-- ARGV[3] listed    the longest part of the prefix that keeps its best
-- ARGV[4] count     of answers
-- ARGV[5] most      texts to look at when only a part of the prefix keeps its best
-- ARGV[6] clock     1: the server's time is wanted
-- ARGV[7] typos     1: correct the prefix when nothing fits
-- ARGV[8...] mixes  initials of texts that may fit a prefix which mixes characters and pinyin
-- flags: no-writes
-- returns {milliseconds, since, plain, mixed, more, then for each text: key, score as eight bytes,
--   text as it is shown or nil}, or the settings when the caller's differ. The first `plain` texts
--   fit. The client compares the next `mixed` texts. The others fit a corrected prefix. There may
--   be more than `count` texts, in any order, some twice. `more` is 1 when the prefix has further
--   texts but keeps only its best.
-- include: keys
-- include: shared/clock
-- include: entries
-- include: typing

local MIXED_MAX = 200 -- most candidates of mixes
local SOME = 50 -- most texts of a crowded prefix without best texts: it ends inside a character
local FIRST_MIX = 8 -- index of the first mix in the arguments
local settings, prefix, listed, count, most, server_time, typos = unpack(ARGV)
count, most = tonumber(count), tonumber(most)

local stored, since = unpack(redis.call('HMGET', META, 'settings', 'since'))
local weights = redis.call('ZCARD', WEIGHTS)
if not stored and weights > 0 or weights == 0 and redis.call('ZCARD', TEXTS) > 0 then
  return redis.error_reply('DAMAGED part of these suggestions is gone from the server')
end
if stored and stored ~= settings then
  return stored
end

local keys, scores = {}, {}

-- Adds the best texts of a crowded prefix. Returns how many.
local function add_best(of, limit)
  local low, high = entries.bounds(of)
  local best = redis.call('ZRANGE', BEST, high, low, 'BYLEX', 'REV', 'LIMIT', 0, limit)
  for _, one in ipairs(best) do
    scores[#scores + 1], keys[#keys + 1] = entries.split_tail(entries.tail_of(one, of))
  end
  return #best
end

-- Adds all texts of a prefix that is not crowded; of another prefix the first ones in order.
local function add_first(of, limit)
  local found = redis.call('ZRANGE', TEXTS, '[' .. of, prefixes.above(of), 'BYLEX',
                           'LIMIT', 0, limit)
  if #found == 0 then
    return
  end
  for i, text in ipairs(found) do
    found[i] = (prefixes.key_of(text))
  end
  for i, score in ipairs(redis.call('ZMSCORE', WEIGHTS, unpack(found))) do
    if score then
      keys[#keys + 1] = found[i]
      scores[#scores + 1] = struct.pack(SCORE_FORMAT, tonumber(score))
    end
  end
end

-- Adds the heaviest of all texts.
local function add_heaviest()
  local all = redis.call('ZRANGE', WEIGHTS, 0, count - 1, 'REV', 'WITHSCORES')
  for i = 1, #all, 2 do
    keys[#keys + 1] = all[i]
    scores[#scores + 1] = struct.pack(SCORE_FORMAT, tonumber(all[i + 1]))
  end
end

-- Adds the texts of a prefix; the shorter prefix `from` keeps its best texts. Returns whether the
-- prefix has further texts that it does not keep.
local function add_all(of, from, limit)
  if of == '' then
    add_heaviest()
    return false
  end
  local kept = add_best(from, from == of and limit or most)
  if from == of and kept == most then
    return limit > most and prefixes.starts_with(of) > kept
  elseif from ~= of or kept < limit then
    add_first(of, kept > 0 and CROWD or SOME)
  end
  return false
end

-- The number of different texts: several starts may have found the same one.
local function different(list)
  local seen, number = {}, 0
  for _, key in ipairs(list) do
    number = number + (seen[key] and 0 or 1)
    seen[key] = true
  end
  return number
end

local more = add_all(prefix, listed, count)
local plain = #keys
if #ARGV >= FIRST_MIX and different(keys) < count then
  for i = FIRST_MIX, #ARGV do
    local initials = ARGV[i]
    if #keys < plain + MIXED_MAX then
      add_all(initials, initials, math.min(most, MIXED_MAX))
    end
  end
end
local mixed = #keys - plain
if plain == 0 and typos == '1' then
  for _, other in ipairs(typing.heaviest(typing.corrections(prefix), count)) do
    add_all(other, other, count)
  end
end

local answer = {server_time == '1' and clock.ms() or 0, since or '0', plain, mixed,
                more and 1 or 0}
if #keys > 0 then
  local shown = redis.call('HMGET', SHOWN, unpack(keys))
  for i, key in ipairs(keys) do
    local at = #answer
    answer[at + 1], answer[at + 2], answer[at + 3] = key, scores[i], shown[i]
  end
end
return answer

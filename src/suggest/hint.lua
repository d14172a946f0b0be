-- suggest/hint: the heaviest texts that begin with a prefix.
-- KEYS[1] meta      hash: settings, since
-- KEYS[2] weights   sorted set: key, score
-- KEYS[3] texts     sorted set by bytes: "start NUL key", or "key NUL"
-- KEYS[4] best      sorted set by bytes: "prefix NUL score key"
-- KEYS[5] shown     hash: key, text as it is shown if that is another
-- ARGV[1] settings  of the caller
-- ARGV[2] prefix
-- ARGV[3] listed    the prefix, or as much of it as keeps its best
-- ARGV[4] count     of answers
-- ARGV[5] most      that are looked at when only a part of the prefix keeps its best
-- ARGV[6] clock     1: the server's time is wanted
-- ARGV[7] typos     1: correct the prefix when nothing fits
-- ARGV[8...] mixes  initials of texts that may fit a prefix which mixes characters and pinyin
-- returns {milliseconds, since, plain, mixed, then for each text: key, score as eight bytes, text as
-- it is shown or nil}, or the settings when they are others. The first texts, `plain` of them, fit.
-- The next, `mixed` of them, are to be compared. The others fit a corrected prefix. More than `count`
-- may come, in any order, some twice.

local META, WEIGHTS, TEXTS, BEST, SHOWN = unpack(KEYS)
-- include: typos

local FEW = 10 -- as CROWD of feed
local MIXED_MAX = 200 -- candidates of mixes
local SOME = 50 -- of a prefix that keeps nothing although it is crowded: it ends inside a character

local settings, prefix, listed, count, most, clock, typos = unpack(ARGV)
local meta = redis.call('HMGET', META, 'settings', 'since')
local weights = redis.call('ZCARD', WEIGHTS)
if not meta[1] and weights > 0 or weights == 0 and redis.call('ZCARD', TEXTS) > 0 then
  return redis.error_reply('DAMAGED part of these suggestions is gone from the server')
end
if meta[1] and meta[1] ~= settings then
  return meta[1]
end

local keys, scores = {}, {}

local function add_best(of, limit)
  local low, high = '[' .. of .. '\0', '(' .. of .. '\1'
  local best = redis.call('ZRANGE', BEST, high, low, 'BYLEX', 'REV', 'LIMIT', 0, limit)
  for _, member in ipairs(best) do
    keys[#keys + 1] = string.sub(member, #of + 10)
    scores[#scores + 1] = string.sub(member, #of + 2, #of + 9)
  end
  return #best
end

-- Those of a prefix that is not crowded: all. Of another the first in order.
local function add_first(of, limit)
  local found = redis.call('ZRANGE', TEXTS, '[' .. of, above(of), 'BYLEX', 'LIMIT', 0, limit)
  if #found == 0 then
    return
  end
  for i, member in ipairs(found) do
    found[i] = (key_of(member))
  end
  for i, score in ipairs(redis.call('ZMSCORE', WEIGHTS, unpack(found))) do
    if score then
      keys[#keys + 1] = found[i]
      scores[#scores + 1] = struct.pack('>d', tonumber(score))
    end
  end
end

local function add_heaviest()
  local all = redis.call('ZRANGE', WEIGHTS, 0, count - 1, 'REV', 'WITHSCORES')
  for i = 1, #all, 2 do
    keys[#keys + 1] = all[i]
    scores[#scores + 1] = struct.pack('>d', tonumber(all[i + 1]))
  end
end

local function add_all(of, from, limit)
  if of == '' then
    add_heaviest()
    return
  end
  local kept = add_best(from, from == of and limit or most)
  if from ~= of or kept < tonumber(limit) then
    add_first(of, kept > 0 and FEW or SOME)
  end
end

-- How many texts: one may have been found by several starts.
local function different(list)
  local seen, number = {}, 0
  for _, key in ipairs(list) do
    number = number + (seen[key] and 0 or 1)
    seen[key] = true
  end
  return number
end

add_all(prefix, listed, count)
local plain = #keys
if #ARGV >= 8 and different(keys) < tonumber(count) then
  for i = 8, #ARGV do
    if #keys < plain + MIXED_MAX then
      add_all(ARGV[i], ARGV[i], math.min(most, MIXED_MAX))
    end
  end
end
local mixed = #keys - plain
if plain == 0 and typos == '1' then
  for _, other in ipairs(corrections(prefix)) do
    add_all(other, other, count)
  end
end

local now = clock == '1' and redis.call('TIME') or {0, 0}
local answer = {now[1] * 1000 + math.floor(now[2] / 1000), meta[2] or '0', plain, mixed}
if #keys > 0 then
  local shown = redis.call('HMGET', SHOWN, unpack(keys))
  for i, key in ipairs(keys) do
    answer[3 * i + 2], answer[3 * i + 3], answer[3 * i + 4] = key, scores[i], shown[i]
  end
end
return answer

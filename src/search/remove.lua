-- search/remove: documents are found no more.
-- KEYS[1] meta     hash: token, version, next, docs, words
-- KEYS[2] ids      hash: id, number
-- KEYS[3] docs     hash: number, record
-- KEYS[4] forward  hash: number, its terms
-- KEYS[5] texts    hash: number, text
-- KEYS[6] live     bitmap of the numbers that can be found
-- KEYS[7] dead     sorted set: number, stamp
-- KEYS[8] free     set of numbers to be used again
-- KEYS[9] terms    sorted set by bytes
-- KEYS[10] common  hash: term that has a bitmap, count
-- KEYS[11] shown   hash: term of a value, the value as it was written
-- ARGV[1] token    of the index
-- ARGV[2...] ids
-- returns 'stale', or {how many were there, {number, stamp, record, terms} of each, {}, how many
-- numbers were left behind}; without record and terms where the reply would be too long

local META, IDS, DOCS, FORWARD, TEXTS, LIVE, DEAD, FREE, TERMS, COMMON, SHOWN = unpack(KEYS)
-- include: documents

local token = ARGV[1]
if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
local ids = {unpack(ARGV, 2)}
check_types()
for _, id in ipairs(ids) do
  check_number_of(id)
end
local dead, room = {}, {bytes = REPLY_BYTES}
local stamp = clock_us()
for _, id in ipairs(ids) do
  local number = redis.call('HGET', IDS, id)
  if number then
    redis.call('HDEL', IDS, id)
    redis.call('HINCRBY', META, 'docs', -1)
    dead[#dead + 1] = die(number, stamp, room)
  end
end
local removed = #dead
if removed > 0 then
  redis.call('HINCRBY', META, 'version', 1)
end
return {removed, dead, {}, count_left(stamp)}

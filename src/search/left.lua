-- search/left: the versions that have dead numbers, which a client needs to clear them.
-- KEYS[1...] shard  see keys.inc.lua
-- ARGV[1] token    of the index
-- ARGV[2...] numbers  none: the numbers that killed writers left behind
-- flags: no-writes
-- returns 'stale', or {0, {number, stamp, record, terms} of the first numbers}: as many as fit
-- include: keys
-- include: documents
-- include: shared/ranked

local FIRST_NUMBER, NUMBERS_MOST = 2, 100
local token = ARGV[1]

-- The numbers in the arguments, or without any, the numbers that killed writers left behind.
local function numbers_asked()
  if ARGV[FIRST_NUMBER] then
    return {unpack(ARGV, FIRST_NUMBER)}
  end
  return ranked.up_to(DEAD, documents.left_behind(clock.us()), NUMBERS_MOST)
end

if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
local found, room = {}, {bytes = REPLY_BYTES}
for _, number in ipairs(numbers_asked()) do
  local stamp = redis.call('ZSCORE', DEAD, number)
  if room.bytes > 0 then
    local record = redis.call('HGET', DOCS, number)
    stamp = stamp and decimal.whole(stamp) or ''
    found[#found + 1] = documents.old_version(number, stamp, record, room)
  end
end
return {0, found}

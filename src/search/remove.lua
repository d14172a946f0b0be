-- search/remove: remove documents: queries no longer find them.
-- KEYS[1...] shard  see keys.inc.lua
-- ARGV[1] token    of the index
-- ARGV[2...] ids
-- flags: allow-oom
-- returns 'stale', or {how many were there, {number, stamp, record, terms} of each, {}, how many
--   numbers were left behind}; record and terms are missing where the reply would be too long
-- include: keys
-- include: documents
-- include: indexes

local FIRST_ID = 2 -- index of the first id in the arguments
local token, ids = ARGV[1], {unpack(ARGV, FIRST_ID)}

if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
documents.check_types()
for _, id in ipairs(ids) do
  documents.check_number_of(id)
end
local dead, room = {}, {bytes = REPLY_BYTES}
local stamp = clock.us()
for _, id in ipairs(ids) do
  local number = redis.call('HGET', IDS, id)
  if number then
    redis.call('HDEL', IDS, id)
    redis.call('HINCRBY', META, 'docs', -1)
    dead[#dead + 1] = documents.die(number, stamp, room)
  end
end
local removed = #dead
if removed > 0 then
  indexes.change()
end
return {removed, dead, {}, documents.count_left(stamp)}

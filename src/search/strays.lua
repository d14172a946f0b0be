-- search/strays: remove ids that have no document.
-- KEYS[1...] shard  see keys.inc.lua
-- ARGV[1] token   of the index
-- ARGV[2] kinds   a letter for each field: n numeric, t text
-- ARGV[3] cursor  of HSCAN
-- flags: allow-oom
-- returns 'stale', or {cursor, ids that were removed}
-- include: truth

local AT_ONCE = 100
local token, kinds, cursor = unpack(ARGV)

if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
documents.check_types()
local behind, entries = unpack(redis.call('HSCAN', IDS, cursor, 'COUNT', AT_ONCE))
local strays = {}
for i = 1, #entries, 2 do
  local id, number = entries[i], entries[i + 1]
  local record = redis.call('HGET', DOCS, number)
  if not record or truth.read_record(record, kinds) ~= id
    or redis.call('ZSCORE', DEAD, number) then
    strays[#strays + 1] = id
  end
end
if #strays > 0 then
  redis.call('HDEL', IDS, unpack(strays))
end
return {behind, #strays}

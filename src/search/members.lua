-- search/members: remove members of a field that no document has, and look at the field's ladders.
-- KEYS[1...] shard  see keys.inc.lua; then the sorted set of the field, the steps of its ladders
-- ARGV[1] token   of the index
-- ARGV[2] kinds   a letter for each field: n numeric, t text
-- ARGV[3] field   from 0
-- ARGV[4] cursor  of ZSCAN
-- flags: allow-oom
-- returns 'stale', or {cursor, how many members were removed, {field, side, step, threshold} of
--   each step that has to be made again}; the steps come with the last cursor only
-- include: truth
-- include: climbing
-- include: indexes

local FIELD, FIRST_STEP = KEYS[SHARD_KEYS + 1], SHARD_KEYS + 2
local AT_ONCE = 200
local token, kinds, field, cursor = unpack(ARGV)
field = tonumber(field)
local is_text = string.sub(kinds, field + 1, field + 1) ~= NUMERIC

-- Whether a document has a member. A document that is on its way out has it until the end.
local function is_right(member)
  local number = is_text and string.match(member, '%z(%d+)$') or not is_text and member
  local record = number and redis.call('HGET', DOCS, number)
  if not record or not is_text then
    return record and true or false
  end
  local _, sorted = truth.read_record(record, kinds)
  return (sorted and sorted[field + 1] or '') .. '\0' .. number == member
end

-- The steps in use whose bitmaps have more or fewer documents than the field says.
local function steps_to_make()
  local worn = {}
  for side, count in pairs(STEPS_OF_SIDE) do
    for step = 1, count do
      local name = ladders.step_name(field, side, step)
      local threshold, is_ready = unpack(redis.call('HMGET', LADDER, name, name .. 'ready'))
      local key = climbing.step_key(KEYS, FIRST_STEP, 0, side, step)
      if threshold and is_ready
        and redis.call('BITCOUNT', key) ~= ladders.count(FIELD, threshold, side) then
        worn[#worn + 1] = {field, side, step, threshold}
      end
    end
  end
  return worn
end

if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
documents.check_types()
local behind, entries = unpack(redis.call('ZSCAN', FIELD, cursor, 'COUNT', AT_ONCE))
local strays = {}
for i = 1, #entries, 2 do
  if not is_right(entries[i]) then
    strays[#strays + 1] = entries[i]
  end
end
if #strays > 0 then
  redis.call('ZREM', FIELD, unpack(strays))
  indexes.change()
end
return {behind, #strays, behind == '0' and steps_to_make() or {}}

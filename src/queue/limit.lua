-- queue/limit: set some limits; put parked jobs back, so that claims check them again; remove dead
--   letters and kept jobs beyond the limits.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] from      the last parked job that came back, to go on behind it; '' to begin
-- ARGV[2...] limits name and value of each that is set, at the beginning; 0: none
-- flags: allow-oom
-- returns {the last parked job that came back, '' when that was all;
--   1 when there may be more dead letters or kept jobs to remove}
-- include: shared/clock
-- include: ends
-- include: keeping
-- include: line

now = clock.ms()
local STEP = 200 -- parked jobs, dead letters, and kept jobs, at most
local FIRST_LIMIT = 2 -- index in ARGV
local from = ARGV[1]

local waiting, meta = line.read_waiting(), totals.read()
local regroup, spots = from ~= '', {}

local function set(name, value)
  if value == decimal.whole(meta[name] or 0) then
    return
  end
  if value == '0' then
    redis.call('HDEL', META, name)
  else
    redis.call('HSET', META, name, value)
  end
  meta[name] = value ~= '0' and tonumber(value) or nil
  regroup = regroup or string.find(name, '^group') ~= nil
  if string.find(name, 'rate', 1, true) then -- use of the old rate does not count
    meta.full_at = nil
    redis.call('HDEL', META, 'full_at')
    redis.call('UNLINK', RATES)
  end
end

for i = FIRST_LIMIT, #ARGV, 2 do
  local name, value = ARGV[i], ARGV[i + 1]
  set(name, value)
end
if regroup then
  spots = redis.call('ZRANGE', PARKED, from == '' and '-' or '(' .. from, '+', 'BYLEX',
                     'LIMIT', 0, STEP)
end
for _, spot in ipairs(spots) do
  local id, priority = jobs.read_spot(spot)
  redis.call('ZREM', PARKED, spot)
  jobs.make_ready(id, priority)
end
local removed, bytes = ends.trim_dead(meta, STEP, ends.new_budget())
totals.add(meta, {bytes = -bytes})
local forgotten = 0
if keeping.keys_fit() then
  forgotten = keeping.make_room(meta, 0, 0, STEP)
  keeping.let_expire(meta)
end
line.wake(waiting, line.open_gate(meta))
return {spots[STEP] or '', (removed == STEP or forgotten == STEP) and 1 or 0}

-- service/list: instances that are alive, some hundred in one step.
-- KEYS[1...] service  see leases.inc.lua
-- ARGV[1] cursor  '0', then as the last step returned it
-- flags: allow-oom
-- returns the time, the cursor of the next step ('0': there is none), the ids, each followed by the
--   end of its lease, and the infos in the same order; nil for one that is missing. An instance may
--   come in two steps
-- include: leases

local cursor = ARGV[1]

local time = clock.ms()
local next_cursor, found = unpack(redis.call('ZSCAN', LEASES, cursor, 'COUNT',
                                             TKL__SERVICE_STEP))
local ids, ends, latest = {}, {}, 0
for i = 1, #found, 2 do
  local id, till = found[i], tonumber(found[i + 1])
  if till > time then
    ids[#ids + 1] = id
    ends[#ends + 1] = id
    ends[#ends + 1] = found[i + 1]
    latest = math.max(latest, till)
  end
end
if latest > time + TKL__SERVICE_LEASE_MAX_MS then
  pcall(leases.shorten, time) -- a user with read permission only cannot do this
end
return {time, next_cursor, ends, ids[1] and redis.call('HMGET', INFOS, unpack(ids)) or {}}

-- service/list: the instances that are alive.
-- KEYS[1...] service  see leases.inc.lua
-- ARGV[1] most    instances of a service
-- flags: allow-oom
-- returns the time, the ids, each followed by the end of its lease, and the infos in pieces, in the
--   same order; nil for one that is missing
-- include: leases

local most = ARGV[1]

local time = clock.ms()
local after = '(' .. decimal.whole(time)
local ends = redis.call('ZRANGEBYSCORE', LEASES, after, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
local ids, pieces, latest = {}, {}, 0
for i = 1, #ends, 2 do
  ids[#ids + 1] = ends[i]
  latest = math.max(latest, tonumber(ends[i + 1]))
end
if latest > time + TKL__SERVICE_LEASE_MAX_MS then
  pcall(leases.shorten, time) -- a user with read permission only cannot do this
end
for from = 1, #ids, TKL__SERVICE_PIECE do
  local to = math.min(from + TKL__SERVICE_PIECE - 1, #ids)
  pieces[#pieces + 1] = redis.call('HMGET', INFOS, unpack(ids, from, to))
end
return {time, ends, pieces}

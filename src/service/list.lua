-- service/list: the instances that are alive.
-- KEYS[1...] service  see leases.inc.lua
-- ARGV[1] most    instances of a service
-- returns the time, the ids, each followed by the end of its lease, and the infos in pieces, in the
--   same order; nil for one that is missing
-- include: shared/clock
-- include: leases

local PIECE = 1000 -- fields of one HMGET
local most = ARGV[1]

local time = clock_ms()
local after = string.format('(%d', time)
local ends = redis.call('ZRANGEBYSCORE', LEASES, after, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
local ids, pieces, latest = {}, {}, 0
for i = 1, #ends, 2 do
  ids[#ids + 1] = ends[i]
  latest = math.max(latest, tonumber(ends[i + 1]))
end
if latest > time + LEASE_MAX then
  pcall(shorten, time) -- users who may only read cannot
end
for from = 1, #ids, PIECE do
  local to = math.min(from + PIECE - 1, #ids)
  pieces[#pieces + 1] = redis.call('HMGET', INFOS, unpack(ids, from, to))
end
return {time, ends, pieces}

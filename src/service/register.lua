-- service/register: list an instance, or renew its lease.
-- KEYS[1...] service  see leases.inc.lua
-- ARGV[1] id
-- ARGV[2] token
-- ARGV[3] info
-- ARGV[4] lease   milliseconds
-- ARGV[5] renew   1: an instance of another registration is not replaced
-- ARGV[6] most    instances of a service
-- returns 1: listed; 0: another registration has the id; -1: there are too many
-- include: shared/clock
-- include: leases

local GRACE = 60000 -- the keys stay so long after the last lease
local id, token, info, lease, renew, most = unpack(ARGV)

-- The key lasts for this lease, and for a longer one of another instance.
local function stay(key, duration)
  local left = redis.call('PTTL', key)
  redis.call('PEXPIRE', key, string.format('%d', math.max(left, duration + GRACE)))
end

local time = clock_ms()
local gone = ended(time)
local owner = redis.call('HGET', OWNERS, id)
local known = redis.call('HGET', INFOS, id)
local alive = redis.call('ZSCORE', LEASES, id)
if renew == '1' and owner and alive and owner ~= token and tonumber(alive) > time then
  return 0
end
if not alive and redis.call('ZCARD', LEASES) - #gone >= tonumber(most) then
  return -1
end

local kept = owner == token and known == info and alive -- a renewal changes its lease only
local fresh = not kept or tonumber(alive) <= time
if fresh or #gone > 0 then
  -- Published first: a user who may not publish is refused before anything is changed.
  redis.call('SPUBLISH', LEASES, id)
end
if kept then
  -- This needs no memory, and after it a full server accepts the other writes.
  stay(LEASES, lease)
end
redis.call('ZADD', LEASES, string.format('%d', time + lease), id)
if not kept then
  redis.call('HSET', OWNERS, id, token)
  redis.call('HSET', INFOS, id, info)
end
for i = #gone, 1, -1 do
  if gone[i] == id then
    table.remove(gone, i)
  end
end
if #gone > 0 then
  remove(gone)
end
shorten(time)
for _, key in ipairs({LEASES, OWNERS, INFOS}) do
  if redis.call('PTTL', key) < lease + GRACE / 2 then
    stay(key, lease)
  end
end
return 1

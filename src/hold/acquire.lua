-- hold/acquire: take the name for a lease; when it is not to be had, wait in line.
-- KEYS[1] record   hash: fence, mode, limit, looker, look; a field for each holder's token
-- KEYS[2] holders  zset: tokens by the end of their lease, in microseconds
-- KEYS[3] queue    zset: those who wait, by arrival
-- ARGV[1] token    of this acquisition
-- ARGV[2] mode     x: alone; s: with others
-- ARGV[3] lease    microseconds
-- ARGV[4] limit    of holders; '' for none
-- ARGV[5] who      one word, for those who ask
-- ARGV[6] channel  where this waiter listens; '' to try only
-- returns {0, fence, lease, now} or {1, microseconds until a lease ends, now, looker}
-- include: line

local token, mode, lease = ARGV[1], ARGV[2], tonumber(ARGV[3])

if ARGV[4] ~= '' and redis.call('HGET', KEYS[1], 'limit') ~= ARGV[4] then
  redis.call('HSET', KEYS[1], 'limit', ARGV[4])
  outlive(lease, redis.call('ZCARD', KEYS[2]) == 0)
  hand_over()
end

local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
if first[1] then
  if tonumber(first[2]) <= now then
    sweep()
    hand_over()
  end
  if redis.call('ZSCORE', KEYS[2], token) then -- a repeated request, or granted just now
    redis.call('ZADD', KEYS[2], text(now + lease), token)
    outlive(lease, false)
    return {0, tonumber(string.match(redis.call('HGET', KEYS[1], token), '^%d+')), lease, now}
  end
end

if redis.call('ZCARD', KEYS[3]) == 0 then
  local fits, alone = room(mode)
  if fits then
    return {0, take(token, mode, lease, ARGV[5], alone), lease, now}
  end
end

first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local till = tonumber(first[2] or now)
if ARGV[6] == '' then
  return {1, till - now, now, 0}
end

local me = token .. ' ' .. mode .. ' ' .. ARGV[3] .. ' ' .. ARGV[5] .. ' ' .. ARGV[6]
redis.call('ZADD', KEYS[3], 'NX', redis.call('HINCRBY', KEYS[1], 'arrivals', 1), me)
redis.call('PEXPIRE', KEYS[3], QUEUE_MS)
redis.call('PEXPIRE', KEYS[1], QUEUE_MS, 'NX')
local looker = redis.call('HGET', KEYS[1], 'looker')
if not looker or looker == me or not redis.call('ZSCORE', KEYS[3], looker) then
  redis.call('HSET', KEYS[1], 'looker', me, 'look', text(till))
  return {1, till - now, now, 1}
end
return {1, till - now, now, 0}

-- hold/acquire: take the name for a lease; when it is not to be had, wait in line.
-- KEYS[1] record   hash
-- KEYS[2] holders  zset
-- KEYS[3] queue    zset
-- ARGV[1] token    of this acquisition: 32 characters
-- ARGV[2] mode     x: alone; s: with others
-- ARGV[3] lease    microseconds
-- ARGV[4] keep     milliseconds that the record must outlive the moment
-- ARGV[5] limit    of holders; '' for none
-- ARGV[6] who      one word, for those who ask
-- ARGV[7] channel  where this waiter listens; '' to try only
-- returns {0, fence, lease, now} or {1, microseconds until a lease ends, now, looker}
-- include: clock

local token, mode = ARGV[1], ARGV[2]
-- include: at_once
-- include: count
local WRITER_CHECK = 900000
local lease = tonumber(ARGV[3])

-- Unless another one holds it alone, for some time yet, it may be had.
local till = x and tonumber(string.sub(x, 1, 16)) or 0
if till <= now or string.sub(x, 18, 49) == token then
  -- include: holders
  -- include: looker
  -- include: line
  -- include: find
  limit = ARGV[5] ~= '' and ARGV[5]
  sweep()
  local nobody_waits = hand_over()
  local mine, card = find(token)
  if not mine and nobody_waits and room(mode) then
    fence = next_fence(fence)
    mine, card = now, fence .. ' ' .. stamp .. ' ' .. ARGV[6]
  end
  if mine then -- now, or since an earlier request, or granted a moment ago
    put(token, mode, lease, card)
    save()
    return {0, tonumber(string.sub(card, 1, 16)), lease, now}
  end
  save()
  if failure then
    return failure
  end
  till = first_end() or now
  -- Behind a writer, although readers hold: looks whether that one is alive, see hand_over().
  if mode == 's' and not limit and not x then
    till = math.min(till, now + WRITER_CHECK)
  end
end
if ARGV[7] == '' then
  return {1, till - now, now, 0}
end

local me = token .. ' ' .. mode .. ' ' .. ARGV[3] .. ' ' .. ARGV[6] .. ' ' .. ARGV[7]
redis.call('ZADD', KEYS[3], 'NX', redis.call('HINCRBY', KEYS[1], 'arrivals', 1), me)
redis.call('PEXPIRE', KEYS[3], QUEUE_MS)
if not fence then -- the server has evicted the record
  redis.call('PEXPIRE', KEYS[1], QUEUE_MS, 'NX')
end
-- Somebody else has promised to look when the lease ends; but all of a client end together.
local looker = redis.call('HGET', KEYS[1], 'looker')
if looker and string.sub(looker, -32) ~= string.sub(me, -32)
   and redis.call('ZSCORE', KEYS[3], looker) then
  return {1, till - now, now, 0}
end
redis.call('HSET', KEYS[1], 'looker', me, 'look', text(till))
return {1, till - now, now, 1}

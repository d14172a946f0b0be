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
-- include: record

local token, mode, lease = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- The common case, in as few steps as there can be: nobody holds, nobody waits.
if mode == 'x' and not x and redis.call('EXISTS', KEYS[2], KEYS[3]) == 0 then
  fence = next_fence(fence)
  redis.call('HSET', KEYS[1], 'fence', fence, 'x', text(now + lease) .. ' ' .. token .. ' '
             .. fence .. ' ' .. stamp .. ' ' .. ARGV[6])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return {0, tonumber(fence), lease, now}
end

-- include: line

if ARGV[5] ~= '' then
  limit = ARGV[5]
end
sweep()
local idle = hand_over()

local till, card = find(token)
if till then -- a repeated request, or granted just now
  put(token, mode, lease, card)
  save()
  return {0, tonumber(string.sub(card, 1, 16)), lease, now}
end
if idle and room(mode) then
  take(token, mode, lease, ARGV[6])
  save()
  return {0, tonumber(fence), lease, now}
end

till = first_end() or now
if ARGV[7] == '' then
  save()
  return {1, till - now, now, 0}
end
-- Behind a writer, although readers hold: looks whether that one is alive, see blocks_for_nothing().
if mode == 's' and ARGV[5] == '' and not x then
  till = math.min(till, now + WRITER_CHECK)
end

local me = token .. ' ' .. mode .. ' ' .. ARGV[3] .. ' ' .. ARGV[6] .. ' ' .. ARGV[7]
arrivals = text((arrivals or 0) + 1)
redis.call('ZADD', KEYS[3], 'NX', arrivals, me)
redis.call('PEXPIRE', KEYS[3], QUEUE_MS)
local looks = not looker or apart(looker, ties(me)) == 0 or not redis.call('ZSCORE', KEYS[3], looker)
if looks then
  looker, look = me, text(till)
end
save()
return {1, till - now, now, looks and 1 or 0}

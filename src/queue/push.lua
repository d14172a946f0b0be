-- queue/push: put jobs into the queue, and hand them to those who wait.
-- KEYS[1] meta      hash; see queue.c for all of them
-- KEYS[2] jobs      hash
-- KEYS[3] ready     zset
-- KEYS[4] delayed   zset
-- KEYS[5] active    zset
-- KEYS[6] extras    hash
-- KEYS[7] waiters   zset
-- KEYS[8] requests  hash, of one window
-- KEYS[9] requests  of the other
-- KEYS[10] dead     zset
-- ARGV[1] lane      of this request
-- ARGV[2] number    of this request in its lane
-- ARGV[3...] jobs   records, which begin with a letter; before the first, and wherever it changes, the
--   place of those that follow: the score in ready, "+ms" from now, or "@ms"
-- returns "first-id how-many": there is no room for the others
-- include: clock
-- include: request

local meta = redis.call('HMGET', KEYS[1], 'last', 'pushed', 'bytes', 'held')
local waiting, n, DEAD = redis.call('ZCARD', KEYS[7]), #ARGV, KEYS[10]
if meta[4] then
  -- include: admit
  if n < 4 then
    return '0 0'
  end
end

local number = math.max(tonumber(meta[1] or '0', 16) + 1, now * 1024)
local id, first, head, digits = nil, number, nil, {[0] = '0', '1', '2', '3', '4', '5', '6', '7', '8',
                                                   '9', 'a', 'b', 'c', 'd', 'e', 'f'}
local jobs, ready, later, bytes, big, place, due = {}, {}, {}, 0, false, nil, nil
local j, r, soonest = 0, 0, nil
for i = 3, n do
  local record = ARGV[i]
  local sign = string.byte(record)
  if sign < 97 then -- no letter
    place, due = record, nil
    if sign == 43 or sign == 64 then -- + or @
      due = string.sub(place, 2) + (sign == 43 and now or 0)
      soonest = math.min(soonest or due, due)
      place = string.format('%d', due)
    end
  else
    local digit = number % 16
    if digit == 0 or not head then
      head = string.format('%012x', number / 16)
    end
    id = head .. digits[digit]
    jobs[j + 1], jobs[j + 2] = id, record
    j = j + 2
    if due then
      later[#later + 1] = place
      later[#later + 1] = id
    else
      ready[r + 1], ready[r + 2] = place, id
      r = r + 2
    end
    bytes, big, number = bytes + #record, big or #record > 65536, number + 1
  end
end
local count = number - first
local answer = string.format('%013x %d', first, count)

if waiting > 0 then
  -- include: sound_claims
end
if later[1] then
  redis.call('ZADD', KEYS[4], unpack(later))
end
if r > 0 then
  redis.call('ZADD', KEYS[3], unpack(ready))
end
redis.call('HSET', KEYS[2], unpack(jobs)) -- last: an id without a record is no job
redis.call('HSET', KEYS[1], 'last', id, 'pushed', string.format('%d', (meta[2] or 0) + count),
           'bytes', string.format('%d', (meta[3] or 0) + bytes))
if big then
  redis.call('HSET', KEYS[1], 'big', 1)
end
-- include: answer
if waiting > 0 then
  -- include: gate
  -- include: serve
  -- include: spend
  -- include: appoint
end
return answer

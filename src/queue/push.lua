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
-- ARGV[3...] jobs   pairs: the score in ready, "+ms" from now, or "@ms"; the record
-- returns "first-id how-many": there is no room for the others
-- include: clock
-- include: request

local meta = redis.call('HMGET', KEYS[1], 'last', 'pushed', 'bytes', 'max_jobs', 'max_bytes',
                        'paused', 'concurrency', 'rate')
local waiting, n = redis.call('ZCARD', KEYS[7]), #ARGV
if meta[4] or meta[5] then
  -- include: admit
  if n < 3 then
    return '0 0'
  end
end

local number = math.max((tonumber(meta[1]) or 0) + 1, now * 1024)
local answer = string.format('%013x %d', number, (n - 2) / 2)
local jobs, ready, later, bytes, big, soonest = {}, {}, {}, 0, false, nil
for i = 3, n, 2 do
  local id, place, record = string.format('%013x', number), ARGV[i], ARGV[i + 1]
  local sign = string.byte(place)
  jobs[i - 2], jobs[i - 1] = id, record
  if sign == 43 or sign == 64 then -- + or @
    local due = string.sub(place, 2) + (sign == 43 and now or 0)
    later[#later + 1] = string.format('%d', due)
    later[#later + 1] = id
    soonest = math.min(soonest or due, due)
  else
    ready[#ready + 1] = place
    ready[#ready + 1] = id
  end
  bytes, big, number = bytes + #record, big or #record > 65536, number + 1
end

local handed = false
if waiting > 0 and n == 4 and ready[1] and not (meta[6] or meta[7] or meta[8] or big)
   and string.byte(jobs[2]) ~= 115 and redis.call('ZCARD', KEYS[3]) == 0 then
  -- include: direct
end
if later[1] then
  redis.call('ZADD', KEYS[4], unpack(later))
end
if ready[1] and not handed then
  redis.call('ZADD', KEYS[3], unpack(ready))
end
if not handed then
  redis.call('HSET', KEYS[2], unpack(jobs)) -- last: an id without a record is no job
end
redis.call('HSET', KEYS[1], 'last', string.format('%d', number - 1),
           'pushed', string.format('%d', (meta[2] or 0) + (n - 2) / 2),
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
  return refusal or answer
end
return answer

-- queue/push_one: put one job into the queue that is due at once, or hand it to the first who waits. The
-- same as queue/push, in the case in which every microsecond counts.
-- KEYS[1] meta      hash; see queue.c for all of them
-- KEYS[2] jobs      hash
-- KEYS[3] ready     zset
-- KEYS[4] dead      zset
-- KEYS[5] active    zset
-- KEYS[6] extras    hash
-- KEYS[7] waiters   zset
-- KEYS[8] requests  hash, of one window
-- KEYS[9] requests  of the other
-- ARGV[1] lane      of this request
-- ARGV[2] number    of this request in its lane
-- ARGV[3] score     in ready
-- ARGV[4] record    there is no more to its start
-- returns "id 1", or "0 0": there is no room
local call, format = redis.call, string.format
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- include: request

local meta = call('HMGET', KEYS[1], 'last', 'pushed', 'bytes', 'held', 'look', 'looker')
local n, record, DEAD = 4, ARGV[4], KEYS[4]
if meta[4] then
  -- include: admit
  if n < 4 then
    return '0 0'
  end
end

local id = format('%013x', math.max(tonumber(meta[1] or '0', 16) + 1, now * 1024))
local answer, handed, soonest, waiting = id .. ' 1', false, nil, 0
local idle = #record <= 65536 and not meta[4] and call('ZCARD', KEYS[3]) == 0
local first = idle and call('ZRANGE', KEYS[7], 0, 0)[1] -- cheaper than ZPOPMIN, which tells the score
if first then
  -- include: direct
elseif not idle then
  waiting = call('ZCARD', KEYS[7])
end
if not first and waiting > 0 then
  -- include: sound_claims
end
if not handed then
  call('ZADD', KEYS[3], ARGV[3], id)
  call('HSET', KEYS[2], id, record) -- last: an id without a record is no job
end
call('HSET', KEYS[1], 'last', id, 'pushed', format('%d', (meta[2] or 0) + 1),
     'bytes', format('%d', (meta[3] or 0) + #record))
if #record > 65536 then
  call('HSET', KEYS[1], 'big', 1)
end
-- include: answer
if waiting > 0 then
  -- include: gate
  -- include: serve
  -- include: spend
  -- include: appoint
end
return answer

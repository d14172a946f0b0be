-- queue/push_rich: put unique jobs and flows into the queue.
-- KEYS[1] meta      see queue/push
-- KEYS[2] jobs
-- KEYS[3] ready
-- KEYS[4] delayed
-- KEYS[5] active
-- KEYS[6] extras
-- KEYS[7] waiters
-- KEYS[8] requests
-- KEYS[9] requests
-- KEYS[10] dead
-- KEYS[11] unique
-- KEYS[12] till     of unique keys that are held for a time
-- KEYS[13] flow
-- ARGV[1] lane
-- ARGV[2] number
-- ARGV[3...] jobs   three each: place as in queue/push; record; the places in this call, from 1, of
--   those that it waits for, with spaces in between
-- returns for each job, with spaces in between: its id; "=" and the id of the job that has its unique
--   key; or "-" when there is no room
-- include: clock
-- include: request
-- include: read

local meta = redis.call('HMGET', KEYS[1], 'last', 'pushed', 'bytes', 'max_jobs', 'max_bytes')
local number = math.max(tonumber(meta[1] or '0', 16) + 1, now * 1024)
local count = redis.call('HLEN', KEYS[2]) - redis.call('ZCARD', KEYS[10])
local bytes, added, big = tonumber(meta[3] or 0), 0, false
local max_jobs, max_bytes = tonumber(meta[4] or 2 ^ 53), tonumber(meta[5] or 2 ^ 53)
local told, ids, soonest = {}, {}, nil
local UNIQUE, TILL = KEYS[11], KEYS[12]
-- include: unique
-- include: place

-- Whatever else could be in the way is met before anything is written.
for _, i in ipairs({3, 4, 5, 7, 12, 13}) do
  redis.call('ZCARD', KEYS[i])
end
redis.call('HLEN', KEYS[6])
for i = 3, #ARGV, 3 do
  local record, n = ARGV[i + 1], i / 3
  local line, unique = read(record)
  local holder = unique ~= '' and holder_of(unique)
  local pending, possible = children(ARGV[i + 2])
  if holder then
    told[n], ids[n] = '=' .. holder, holder
  elseif not possible or count >= max_jobs or bytes + #record > max_bytes then
    told[n] = '-'
  else
    local id = string.format('%013x', number)
    redis.call('HSET', KEYS[2], id, record)
    hold(unique, line, id)
    put(id, ARGV[i], line, pending)
    told[n], ids[n] = id, id
    number, count, added = number + 1, count + 1, added + 1
    bytes, big = bytes + #record, big or #record > 65536
  end
end

local answer = table.concat(told, ' ')
if added > 0 then
  redis.call('HSET', KEYS[1], 'last', string.format('%013x', number - 1), 'bytes',
             string.format('%.0f', bytes), 'pushed', string.format('%.0f', (meta[2] or 0) + added))
end
if big then
  redis.call('HSET', KEYS[1], 'big', 1)
end
-- include: answer
prune(#ARGV) -- behind a write that a full server refuses
if redis.call('ZCARD', KEYS[7]) > 0 then
  -- include: gate
  -- include: serve
  -- include: spend
  -- include: appoint
end
return answer

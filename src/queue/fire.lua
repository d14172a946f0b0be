-- queue/fire: push the job of a schedule whose time has come, and set its next time.
-- KEYS[1] meta       hash; see queue.c for all of them
-- KEYS[2] jobs       hash
-- KEYS[3] ready      zset
-- KEYS[4] delayed    zset
-- KEYS[5] active     zset
-- KEYS[6] extras     hash
-- KEYS[7] waiters    zset
-- KEYS[8] schedules  hash
-- KEYS[9] dead       zset
-- KEYS[10] unique    hash
-- KEYS[11] till      zset, of unique keys that are held for a time
-- ARGV[1] schedule   its id
-- ARGV[2] beginning  of it, up to the record, as it was when the next time was found
-- ARGV[3] next       time
-- ARGV[4] push       1, or '' when the time that has come is to be skipped
-- returns 0; 4 (TKL_NOTFOUND) when somebody else saw to it; 5 (TKL_FULL): it stays due
-- include: clock
-- include: read
local UNIQUE, TILL = KEYS[10], KEYS[11]
-- include: unique

local value = redis.call('HGET', KEYS[8], ARGV[1]) or ''
if string.sub(value, 1, #ARGV[2]) ~= ARGV[2] then
  return 4
end
local record = string.sub(value, #ARGV[2] + 1)
local last, rest = string.match(ARGV[2], '^%d+ (%d+) (.*)$')
-- Whatever else could be in the way is met before anything is written.
local waiting, soonest = redis.call('ZCARD', KEYS[7]), tonumber(ARGV[3])
for _, i in ipairs({3, 4, 9, 11}) do
  redis.call('ZCARD', KEYS[i])
end
local line, unique = read(record)
if ARGV[4] ~= '' and not (unique ~= '' and holder_of(unique)) then
  local meta = redis.call('HMGET', KEYS[1], 'last', 'pushed', 'bytes', 'max_jobs', 'max_bytes')
  local jobs = redis.call('HLEN', KEYS[2]) - redis.call('ZCARD', KEYS[9]) + 1
  local bytes = (meta[3] or 0) + #record
  if jobs > tonumber(meta[4] or jobs) or bytes > tonumber(meta[5] or bytes) then
    return 5
  end
  local id = string.format('%013x', math.max(tonumber(meta[1] or '0', 16) + 1, now * 1024))
  redis.call('HSET', KEYS[2], id, record)
  redis.call('ZADD', KEYS[3], as_pushed(line), id)
  hold(unique, line, id)
  redis.call('HSET', KEYS[1], 'last', id,
             'pushed', string.format('%.0f', (meta[2] or 0) + 1),
             'bytes', string.format('%.0f', bytes))
  if #record > 65536 then
    redis.call('HSET', KEYS[1], 'big', 1)
  end
end
redis.call('HSET', KEYS[8], ARGV[1], ARGV[3] .. ' ' .. (ARGV[4] ~= '' and stamp or last) .. ' ' ..
           rest .. record)
redis.call('ZADD', KEYS[4], ARGV[3], '@' .. ARGV[1])
prune(10)
if waiting > 0 then
  -- include: gate
  -- include: serve
  -- include: spend
  -- include: appoint
end
return 0

-- queue/finish: report what became of a claimed job, whatever it is.
-- KEYS[1] meta      hash; see queue.c for all of them
-- KEYS[2] jobs      hash
-- KEYS[3] ready     zset
-- KEYS[4] delayed   zset
-- KEYS[5] active    zset
-- KEYS[6] extras    hash
-- KEYS[7] waiters   zset
-- KEYS[8] dead      zset
-- ARGV[1] id
-- ARGV[2] token     of its claim
-- ARGV[3] outcome   done, failed, dead or released
-- ARGV[4] text      result, or why it failed
-- ARGV[5] delay     milliseconds; '' for the backoff, or the front of the queue
-- ARGV[6] jitter    by which the backoff is multiplied
-- returns 0, or 6 (TKL_NOTOWNER) when the claim is not valid any more
-- include: clock

local id, outcome, soonest = ARGV[1], ARGV[3], nil
local record = redis.call('HGET', KEYS[2], id) or ''
local extra = redis.call('HGET', KEYS[6], id) or ''
-- include: bury
local waiting = redis.call('ZCARD', KEYS[7])
if redis.call('ZREM', KEYS[5], id .. ARGV[2]) == 0 then
  return 6
end
local head = string.match(record, '^[^\n]*')
local failures = tonumber(string.match(extra, '^%d+') or 0)
local wait = tonumber(ARGV[5])

if outcome == 'failed' or outcome == 'dead' then
  failures = failures + 1
  redis.call('HINCRBY', KEYS[1], 'failed', 1)
  if failures > tonumber(string.match(head, ' n(%d+)') or 10) then
    outcome = 'dead'
  end
end
if outcome == 'done' then
  redis.call('HDEL', KEYS[2], id)
  redis.call('HDEL', KEYS[6], id, 'p' .. id)
  redis.call('HINCRBY', KEYS[1], 'done', 1)
  redis.call('HINCRBY', KEYS[1], 'bytes', -#record)
elseif outcome == 'dead' then
  bury(id, failures, ARGV[4])
elseif outcome == 'failed' then
  redis.call('HSET', KEYS[6], id, failures .. ' ' .. ARGV[4])
  local backoff = (string.match(head, ' b(%d+)') or 1000) * 2 ^ (failures - 1)
  local most = tonumber(string.match(head, ' B(%d+)') or 3600000)
  wait = wait or math.ceil(math.min(backoff, most) * ARGV[6])
end
if outcome == 'failed' or outcome == 'released' and wait then
  soonest = now + wait
  redis.call('ZADD', KEYS[4], string.format('%.0f', soonest), id)
elseif outcome == 'released' then
  local priority = string.match(head, '^%a p(%S+)') or 0
  redis.call('ZADD', KEYS[3], string.format('%.0f', priority * 2^42), id)
end

if waiting > 0 then
  -- include: gate
  -- include: serve
  -- include: spend
  -- include: appoint
end
return 0

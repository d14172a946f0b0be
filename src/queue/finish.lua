-- queue/finish: report what became of a claimed job, whatever it is.
-- KEYS[1] meta      hash; see queue.c for all of them
-- KEYS[2] jobs      hash
-- KEYS[3] ready     zset
-- KEYS[4] delayed   zset
-- KEYS[5] active    zset
-- KEYS[6] extras    hash
-- KEYS[7] waiters   zset
-- KEYS[8] dead      zset
-- KEYS[9] unique    hash
-- KEYS[10] groups   hash
-- KEYS[11] parked   zset
-- KEYS[12] flow     zset
-- KEYS[13] result   of this job; also the channel on which its end is told
-- ARGV[1] id
-- ARGV[2] token     of its claim
-- ARGV[3] outcome   done, failed, dead or released
-- ARGV[4] text      result, or why it failed
-- ARGV[5] delay     milliseconds; '' for the backoff, or the front of the queue
-- ARGV[6] jitter    by which the backoff is multiplied
-- returns 0, or 6 (TKL_NOTOWNER) when the claim is not valid any more
-- include: clock

local id, outcome, soonest = ARGV[1], ARGV[3], nil
local READY, DELAYED, EXTRAS, UNIQUE = KEYS[3], KEYS[4], KEYS[6], KEYS[9]
local GROUPS, PARKED, FLOW = KEYS[10], KEYS[11], KEYS[12]
local record = redis.call('HGET', KEYS[2], id) or ''
local extra = redis.call('HGET', EXTRAS, id) or ''
local waiting = redis.call('ZCARD', KEYS[7])
-- include: sound
-- include: read
-- include: groups
-- include: flow
-- include: forget
-- include: bury
if redis.call('ZREM', KEYS[5], id .. ARGV[2]) == 0 then
  return 6
end
local head, unique, group = read(record)
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
  redis.call('HINCRBY', KEYS[1], 'done', 1)
  redis.call('HINCRBY', KEYS[1], 'bytes', string.format('%d', -#record))
  forget(id, record, true)
elseif outcome == 'dead' then
  bury(id, failures, ARGV[4])
  free_unique(unique, id)
  free_place(group)
elseif outcome == 'failed' then
  redis.call('HSET', EXTRAS, id, failures .. ' ' .. ARGV[4])
  local backoff = (string.match(head, ' b(%d+)') or 1000) * 2 ^ (failures - 1)
  local most = tonumber(string.match(head, ' B(%d+)') or 3600000)
  wait = wait or math.ceil(math.min(backoff, most) * ARGV[6])
elseif group ~= '' and extra == '' then
  redis.call('HSET', EXTRAS, id, '0 ') -- it was started, and keeps its place in the group
end
if outcome == 'failed' or outcome == 'released' and wait then
  soonest = now + wait
  redis.call('ZADD', DELAYED, string.format('%d', soonest), id)
elseif outcome == 'released' then
  local priority = string.match(head, '^%a p(%S+)') or 0
  redis.call('ZADD', READY, string.format('%d', priority * 2^42), id)
end
-- include: result
if waiting > 0 then
  -- include: gate
  -- include: serve
  -- include: spend
  -- include: appoint
end
return 0

-- queue/retry: dead letters back to the queue.
-- KEYS[1] meta
-- KEYS[2] jobs
-- KEYS[3] ready
-- KEYS[4] delayed
-- KEYS[5] active
-- KEYS[6] extras
-- KEYS[7] waiters
-- KEYS[8] dead
-- KEYS[9] unique
-- ARGV[1] id        '' for all
-- ARGV[2] before    those that died until this time; '' for now
-- returns {retried, before}
-- include: clock
-- include: sound
-- include: sound_claims
-- include: read
local STEP = 100

local waiting = redis.call('ZCARD', KEYS[7])
redis.call('HLEN', KEYS[9]) -- must not fail later
local before = ARGV[2] ~= '' and ARGV[2] or string.format('%d', now)
local ids = {ARGV[1]}
if ARGV[1] == '' then
  ids = redis.call('ZRANGE', KEYS[8], '-inf', before, 'BYSCORE', 'LIMIT', 0, STEP)
elseif not redis.call('ZSCORE', KEYS[8], ARGV[1]) then
  ids = {}
end
redis.call('PEXPIRE', KEYS[1], 1, 'GT') -- changes nothing, but lets a full server take what follows
for _, id in ipairs(ids) do
  local record = redis.call('HGET', KEYS[2], id) or ''
  local line, unique = read(record)
  redis.call('ZADD', KEYS[3], as_pushed(line), id)
  if unique ~= '' and not string.find(line, ' f') then
    redis.call('HSETNX', KEYS[9], unique, id) -- unless another has the key by now
  end
end
if #ids > 0 then
  redis.call('ZREM', KEYS[8], unpack(ids))
  redis.call('HDEL', KEYS[6], unpack(ids))
end
if waiting > 0 then
  -- include: gate
  -- include: first
  local soonest = till
  -- include: serve
  -- include: spend
  -- include: appoint
end
return {#ids, before}

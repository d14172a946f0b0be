-- hold/release: give it back, and hand it to the next.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- ARGV[1] token
-- ARGV[2] keep     milliseconds for which the fence is remembered; '' where that is so anyway
-- returns 0, or 6 (TKL_NOTOWNER) when it is not held any more

-- The common case: nobody waits. Whether the lease has ended the owner knows by its own clock, and
-- nobody else had it meanwhile.
local x = redis.call('HGET', KEYS[1], 'x')
local waiting = redis.call('ZCARD', KEYS[3]) > 0
if not waiting and x and string.sub(x, 18, 49) == ARGV[1] then
  redis.call('HDEL', KEYS[1], 'x')
  if ARGV[2] ~= '' then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return 0
end
if not waiting and not x and ARGV[2] == '' and redis.call('ZREM', KEYS[2], ARGV[1]) == 1 then
  redis.call('HDEL', KEYS[1], ARGV[1])
  return 0
end

-- include: clock
-- include: count
-- include: holders
-- include: looker
-- include: line

if not drop(ARGV[1]) then
  return 6
end
if waiting then
  sweep()
  hand_over()
elseif ARGV[2] ~= '' then
  -- include: settle
end
save()
return failure or 0

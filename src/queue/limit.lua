-- queue/limit: set some limits; what was parked under others comes back to be judged anew.
-- KEYS[1] meta
-- KEYS[2] jobs
-- KEYS[3] ready
-- KEYS[4] delayed
-- KEYS[5] active
-- KEYS[6] extras
-- KEYS[7] waiters
-- KEYS[8] parked
-- KEYS[9] rates
-- ARGV[1] from      the last one parked that came back, to go on behind it; '' to begin
-- ARGV[2...] name and value of each limit that is set, at the beginning; 0: none
-- returns the last one that came back; '' when that was all
-- include: clock
-- include: sound
-- include: sound_claims
local STEP = 200

local waiting, some, back = redis.call('ZCARD', KEYS[7]), {}, {}
redis.call('ZCARD', KEYS[8]) -- must not fail later
local regroup = ARGV[1] ~= ''
redis.call('PEXPIRE', KEYS[1], 1, 'GT') -- changes nothing, but lets a full server take what follows
for i = 2, #ARGV, 2 do
  local name, value = ARGV[i], ARGV[i + 1]
  if value ~= (redis.call('HGET', KEYS[1], name) or '0') then
    redis.call('HSET', KEYS[1], name, value)
    regroup = regroup or string.find(name, '^group')
    if string.find(name, 'rate', 1, true) then -- what was used of another rate does not count
      redis.call('HDEL', KEYS[1], 'full_at')
      redis.call('UNLINK', KEYS[9])
    end
  end
  if value == '0' then
    redis.call('HDEL', KEYS[1], name)
  end
end
-- include: held

if regroup then
  some = redis.call('ZRANGE', KEYS[8], ARGV[1] == '' and '-' or '(' .. ARGV[1], '+', 'BYLEX',
                    'LIMIT', 0, STEP)
end
for _, member in ipairs(some) do
  local level = string.sub(member, -17, -14) * 4 - 3998 -- see parking_spot()
  back[#back + 1] = string.format('%.0f', level * 2 ^ 40)
  back[#back + 1] = string.sub(member, -13)
end
if #some > 0 then
  redis.call('ZREM', KEYS[8], unpack(some))
  redis.call('ZADD', KEYS[3], unpack(back))
end
if waiting > 0 then
  -- include: gate
  -- include: first
  local soonest = till
  -- include: serve
  -- include: spend
  -- include: appoint
end
return some[STEP] or ''

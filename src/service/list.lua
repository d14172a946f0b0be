-- service/list: the instances that are alive.
-- KEYS[1] leases  see service/register
-- KEYS[2] infos
-- ARGV[1] most    instances of a service
-- returns for each its id, the milliseconds left of its lease, and its info
-- include: clock

local LEASES, INFOS = KEYS[1], KEYS[2]
local STEP = 1000 -- fields of one HMGET
local most = ARGV[1]

local time = clock()
local alive = redis.call('ZRANGEBYSCORE', LEASES, string.format('(%d', time), '+inf', 'WITHSCORES',
  'LIMIT', 0, most)
local answer, count = {}, #alive / 2
for from = 1, count, STEP do
  local ids = {}
  for i = from, math.min(from + STEP - 1, count) do
    ids[#ids + 1] = alive[2 * i - 1]
  end
  local infos = redis.call('HMGET', INFOS, unpack(ids))
  for i, id in ipairs(ids) do
    local left = tonumber(alive[2 * (from + i - 1)]) - time
    if infos[i] then
      answer[#answer + 1] = id
      answer[#answer + 1] = math.min(left, LEASE_MAX)
      answer[#answer + 1] = infos[i]
    end
  end
end
return answer

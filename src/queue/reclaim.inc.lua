-- Leases that ended: a failure is counted, and the job goes to the front, or to the dead when that was
-- its last attempt. The end of a rich job has more to it: it is told to the caller, who reports
-- it as dead; and comes again in a while, should the caller not see to it.

redis.call('HLEN', KEYS[1]) -- must not fail later
redis.call('ZCARD', KEYS[3])
local ended = redis.call('ZRANGE', KEYS[5], '-inf', stamp, 'BYSCORE', 'LIMIT', 0, 100)
local ids = {}
for i, member in ipairs(ended) do
  ids[i] = string.sub(member, 1, 13)
end
local records = redis.call('HMGET', KEYS[2], unpack(ids))
local extras = redis.call('HMGET', KEYS[6], unpack(ids))
for i, id in ipairs(ids) do
  local record = records[i] or ''
  local failures = (string.match(extras[i] or '', '^%d+') or 0) + 1
  local last = failures > tonumber(string.match(record, '^%a[^\n]* n(%d+)') or 10)
  if last and string.byte(record) ~= 97 and records[i] then -- not plain
    lost[#lost + 1] = ended[i]
    redis.call('ZADD', KEYS[5], string.format('%d', now + 5000), ended[i])
  else
    redis.call('ZREM', KEYS[5], ended[i])
    redis.call('HINCRBY', KEYS[1], 'failed', 1)
    if last then
      bury(id, failures, 'the worker was lost')
    elseif records[i] then
      local priority = string.match(record, '^%a p(%S+)') or 0
      redis.call('HSET', KEYS[6], id, failures .. ' the worker was lost')
      redis.call('ZADD', KEYS[3], string.format('%d', priority * 2^42), id)
    end
  end
end

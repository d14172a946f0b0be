-- The common cases, in as few steps as there can be: nobody holds, nobody waits. The clock keeps the
-- fence ahead of those that a failover or a crash of the server made it forget.

local record = redis.call('GET', KEYS[1])
if record and string.sub(record, 18) == ARGV[3]
   or not record and redis.call('EXISTS', KEYS[2], KEYS[3]) == 0 then
  local last = record and string.sub(record, 1, 16) or ''
  local fence = last < stamp and stamp or string.format('%016d', last + 1)
  redis.call('SET', KEYS[1], fence .. ' ' .. ARGV[1] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4],
             'PX', ARGV[2])
  return tonumber(fence)
end

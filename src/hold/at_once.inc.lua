-- The common cases, in as few steps as there can be: nobody holds, nobody waits.

local record = redis.call('GET', KEYS[1])
local quick
if record and string.sub(record, 18) == ARGV[3] then
  quick = string.format('%016d', string.sub(record, 1, 16) + 1)
elseif not record and redis.call('EXISTS', KEYS[2], KEYS[3]) == 0 then
  local time = redis.call('TIME')
  quick = string.format('%010d%06d', time[1], time[2])
end
if quick then
  redis.call('SET', KEYS[1], quick .. ' ' .. ARGV[1] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4],
             'PX', ARGV[2])
  return tonumber(quick)
end

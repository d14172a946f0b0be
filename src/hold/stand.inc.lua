-- To the end of the line, unless this one stands there. Whoever looks, looks when the lease ends; all
-- waiters of a client end together, so that the last one's promise is as good as an earlier one's.

local me = token .. ' ' .. ARGV[4] .. ' ' .. ARGV[5]
local stands = ARGV[6] and redis.call('LPOS', KEYS[3], me)
local first = not stands and redis.call('RPUSH', KEYS[3], me) == 1
redis.call('PEXPIRE', KEYS[3], '900000') -- a quarter of an hour
local name = name_of(me)
if first then
  waits = 'w'
elseif looker == '-' or string.sub(looker, 65) ~= string.sub(name, 65) then
  waits = 'm'
end
looks = looker == '-' or string.sub(looker, 33, 64) == string.sub(name, 33, 64)
if looks then
  looker, look = name, moment(till)
end

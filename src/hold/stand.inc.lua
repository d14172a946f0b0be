-- To the end of the line, unless this one stands there. It looks when the lease ends, if nobody of another
-- client does.

local me = token .. ' ' .. ARGV[4] .. ' ' .. ARGV[5]
local stands = ARGV[6] and redis.call('LPOS', KEYS[3], me)
local alone = not stands and redis.call('RPUSH', KEYS[3], me) == 1
local name = name_of(me)
keep_line()
local distance = apart(looker, name)
if alone then
  waits = 'c'
elseif distance > FARTHEST[waits] then
  waits = distance == 2 and 'm' or 'h'
end
looks = looker == '-' or distance == 0
if looks then
  looker, look = name, moment(till)
end

-- recent/add: put contacts to the front, one after the other.
-- KEYS[1] contacts  sorted set: the greater the score, the more recent
-- ARGV[1] most      contacts that are kept
-- ARGV[2] ttl       milliseconds, or 0
-- ARGV[3...] added  contacts
-- returns how many there are now

local CONTACTS = KEYS[1]
local SCORE_MAX = 2 ^ 53 - 10000 -- beyond it, adding one may change nothing

local newest = redis.call('ZRANGE', CONTACTS, -1, -1, 'WITHSCORES')
local score = tonumber(newest[2] or 0)
if not score or score ~= math.floor(score) or math.abs(score) > SCORE_MAX then
  return redis.error_reply('DAMAGED the scores of this list were not written by tackle')
end

local scored = {}
for i = 3, #ARGV do
  scored[#scored + 1] = string.format('%.0f', score + i - 2)
  scored[#scored + 1] = ARGV[i]
end
redis.call('ZADD', CONTACTS, unpack(scored))
redis.call('ZREMRANGEBYRANK', CONTACTS, 0, -ARGV[1] - 1)
if ARGV[2] ~= '0' then
  redis.call('PEXPIRE', CONTACTS, ARGV[2])
else
  redis.call('PERSIST', CONTACTS)
end
return redis.call('ZCARD', CONTACTS)

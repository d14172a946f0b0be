-- recent/add: put contacts to the front, one after the other.
-- KEYS[1] contacts  sorted set: the greater the score, the more recent
-- ARGV[1] most      contacts that are kept
-- ARGV[2] ttl       milliseconds, or 0
-- ARGV[3...] added  contacts
-- returns how many there are now
-- include: shared/exact

local CONTACTS = KEYS[1]
local FIRST_CONTACT = 3 -- of the arguments
local most, ttl = ARGV[1], ARGV[2]
local SCORE_MAX = EXACT - 10000 -- far enough below for the contacts of one call

local newest = redis.call('ZRANGE', CONTACTS, -1, -1, 'WITHSCORES')
local score = tonumber(newest[2] or 0)
if not score or score ~= math.floor(score) or math.abs(score) > SCORE_MAX then
  return redis.error_reply('DAMAGED the scores of this list were not written by tackle')
end

local scored = {}
for i = FIRST_CONTACT, #ARGV do
  score = score + 1
  scored[#scored + 1] = string.format('%.0f', score)
  scored[#scored + 1] = ARGV[i]
end
redis.call('ZADD', CONTACTS, unpack(scored))
redis.call('ZREMRANGEBYRANK', CONTACTS, 0, -most - 1)
if ttl ~= '0' then
  redis.call('PEXPIRE', CONTACTS, ttl)
else
  redis.call('PERSIST', CONTACTS)
end
return redis.call('ZCARD', CONTACTS)

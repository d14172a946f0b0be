-- recent/add: move contacts to the front, one after the other.
-- KEYS[1] contacts  sorted set: the greater the score, the more recent; microseconds since 1970
-- ARGV[1] most      contacts that are kept
-- ARGV[2] ttl       milliseconds, or 0
-- ARGV[3...] added  contacts
-- returns how many there are now
-- include: shared/clock
-- include: shared/decimal
-- include: shared/expiry

local FIRST_CONTACT = 3 -- index of the first contact in the arguments
local SCORE_MAX = EXACT - 10000 -- leaves room for the contacts of one call
local CONTACTS = KEYS[1]
local most, ttl = ARGV[1], ARGV[2]

local newest = redis.call('ZRANGE', CONTACTS, -1, -1, 'WITHSCORES')
local score = tonumber(newest[2] or 0)
if not score or score ~= math.floor(score) or math.abs(score) > SCORE_MAX then
  return redis.error_reply('DAMAGED the scores of this list were not written by tackle')
end

-- After the clock was set back, new contacts still get scores above the newest one.
score = math.max(score, clock.us() - 1)
local scored = {}
for i = FIRST_CONTACT, #ARGV do
  score = score + 1
  scored[#scored + 1] = decimal.whole(score)
  scored[#scored + 1] = ARGV[i]
end
redis.call('ZADD', CONTACTS, unpack(scored))
redis.call('ZREMRANGEBYRANK', CONTACTS, 0, -most - 1)
expiry.set(CONTACTS, ttl)
return redis.call('ZCARD', CONTACTS)

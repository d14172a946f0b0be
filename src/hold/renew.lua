-- hold/renew: make the lease last from now; a writer may become a reader.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- KEYS[4] cards
-- ARGV[1] token
-- ARGV[2] lease    microseconds
-- ARGV[3] mode     s: downgrade; '' leaves it
-- returns {0, fence, lease} or {6} (TKL_NOTOWNER) when it is not held any more
-- include: clock
-- include: count

local record = redis.call('GET', KEYS[1])
-- include: record
-- include: save
-- include: holders
-- include: grant
-- include: looker
-- include: line
-- include: find

local till, card = find(ARGV[1])
if not till or till <= now then
  return {6}
end
local lease = tonumber(ARGV[2])
redis.call('PEXPIRE', KEYS[1], 1, 'GT') -- changes nothing, but lets a full server take what follows
put(ARGV[1], ARGV[3] == '' and x and string.sub(x, 51, 51) or 's', lease, card)
if ARGV[3] == 's' then
  hand_over()
end
if waits ~= '-' and now + lease < till then
  appoint(now + lease)
end
save()
return {0, tonumber(string.sub(card, 1, 16)), lease}

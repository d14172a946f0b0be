-- hold/renew: make the lease last from now; a writer may become a reader.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- ARGV[1] token
-- ARGV[2] lease    microseconds
-- ARGV[3] mode     s: downgrade; '' leaves it
-- returns {0, fence, lease, now} or {6} (TKL_NOTOWNER) when it is not held any more
-- include: clock
-- include: count
-- include: holders
-- include: looker
-- include: line
-- include: find

local till, card = find(ARGV[1])
if not till or till <= now then
  return {6}
end
local lease = tonumber(ARGV[2])
redis.call('PEXPIRE', KEYS[1], 1, 'GT') -- changes nothing, but lets a full server take what follows
if not x then
  put(ARGV[1], 's', lease, card)
elseif ARGV[3] == 's' then
  drop(ARGV[1])
  put(ARGV[1], 's', lease, card)
  hand_over()
else
  put(ARGV[1], 'x', lease, card)
end
if now + lease < till then
  appoint(now + lease)
end
save()
return {0, tonumber(string.sub(card, 1, 16)), lease, now}

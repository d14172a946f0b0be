-- files/left: whether receivers lack something of a file that a call has sent.
-- KEYS[1...] channel  see keys.inc.lua; then the record of the file, what the call has sent, and
--   the same when it is over
-- ARGV[1] field  of the file in `sent`; '': the call is not remembered
-- ARGV[2] token  of the file
-- ARGV[3] until  when the server forgets the call, ms of its clock; '0': not known yet
-- flags: no-writes
-- returns {code, until}: TKL_OK all receivers are done with it; TKL_EXISTS not yet, or its record
--   was evicted, which its receivers will report; TKL_NOTFOUND the server was restarted with older
--   data, or was emptied, and does not know the file, or does not know that it was completed
-- include: shared/clock
-- include: keys
-- include: lost

now = clock.ms()
local NO_KEY = -2
local FILE, SENT, OVER = unpack(KEYS, CHANNEL_KEYS + 1)
local field, token, known_until = ARGV[1], ARGV[2], tonumber(ARGV[3])

local function is_remembered()
  return redis.call('HGET', SENT, field) or redis.call('HGET', OVER, field)
end

-- Whether the server has lost data: it remembers the call without this file, or has forgotten the
-- call although the call's time is not known to be over.
local function is_lost(left)
  return left ~= NO_KEY or known_until == 0 or now < known_until
end

local left = redis.call('PTTL', SENT)
local state = redis.call('HGET', FILE, 'state')
local code = (state or lost.is_listed(token)) and TKL_EXISTS or TKL_OK
if state ~= 'complete' and field ~= '' and not is_remembered() and is_lost(left) then
  code = TKL_NOTFOUND
end
return {code, left == NO_KEY and known_until or now + left}

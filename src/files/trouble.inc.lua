-- What went wrong on a channel, for status.
-- include: keys

local TROUBLE_MOST = 100
local TROUBLE_KEPT_MS = 30 * 86400000 -- 30 days

local function note_trouble(token, receiver, name, reason)
  redis.call('XADD', TROUBLE, 'MAXLEN', TROUBLE_MOST, '*', 'token', token, 'receiver', receiver,
             'name', name or '', 'reason', reason)
  redis.call('PEXPIRE', TROUBLE, TROUBLE_KEPT_MS)
end

-- Trouble: what went wrong on a channel, for status.
-- include: keys

local trouble = {}

local TROUBLE_MOST = 100

-- Notes what went wrong with a file.
function trouble.note(token, receiver, name, reason)
  redis.call('XADD', TROUBLE, 'MAXLEN', TROUBLE_MOST, '*', 'token', token, 'receiver', receiver,
             'name', name or '', 'reason', reason)
  redis.call('PEXPIRE', TROUBLE, KEPT_MS)
end

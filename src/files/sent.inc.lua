-- What a call has sent so far: when it is interrupted and made again, it sends the rest. The key SENT
-- is the script's.

-- The token of a file that was sent, or nil.
local function sent_as(fingerprint)
  return fingerprint ~= '' and redis.call('HGET', SENT, fingerprint) or nil
end

-- `kept`: for how many ms the call may be interrupted; '': it need not be remembered. A source that
-- cannot be sent again has no fingerprint: its sender only asks later whether it was sent.
local function note_sent(fingerprint, token, kept)
  if kept ~= '' then
    redis.call('HSET', SENT, fingerprint ~= '' and fingerprint or token, token)
  end
end

local function keep_sent(kept)
  if kept ~= '' then
    redis.call('PEXPIRE', SENT, kept)
  end
end

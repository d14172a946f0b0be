-- Sending: the files that a call has sent so far. A call that is interrupted and made again sends
-- the rest. `sent` is the key.

local sending = {}

-- Returns the token of a file that was sent, or nil.
function sending.token_of(sent, fingerprint)
  return fingerprint ~= '' and redis.call('HGET', sent, fingerprint) or nil
end

-- Notes a file that was sent. `kept`: how many ms the call may be interrupted; '': the call is not
-- remembered. A source that cannot be sent again has no fingerprint: its token stands for it.
function sending.note(sent, fingerprint, token, kept)
  if kept ~= '' then
    redis.call('HSET', sent, fingerprint ~= '' and fingerprint or token, token)
  end
end

-- Makes the record of a call with its first file, so that failures can be noted in it.
function sending.begin(sent, kept)
  if kept ~= '' then
    redis.call('HSET', sent, 'begun', 1)
    redis.call('PEXPIRE', sent, kept)
  end
end

-- Notes that a receiver could not use a file, the first time. A sender that waits finds the note
-- here although the list of troubles keeps only the last ones.
function sending.note_failed(sent, receiver, name, reason)
  if redis.call('EXISTS', sent) == 1 then
    local text = receiver .. ' did not get ' .. (name or 'a file') .. ': ' .. reason
    redis.call('HSETNX', sent, 'failed', text)
  end
end

-- Makes the record of a call expire after `kept` ms.
function sending.keep(sent, kept)
  if kept ~= '' then
    redis.call('PEXPIRE', sent, kept)
  end
end

-- Files that the server has lost: it evicts keys one by one.
-- include: keys

local lost = {}

-- Whether the channel still has this file, and it is not given up. The list of files or the account
-- names it: the server may have evicted one of the two.
function lost.is_listed(token)
  local ends = tonumber(redis.call('ZSCORE', ENDS, token) or math.huge)
  if ends <= now then
    return false
  end
  return redis.call('ZSCORE', FILES, token) or redis.call('HEXISTS', BYTES, token) == 1
end

-- Whether a listed file has lost its record, or a complete file its receivers. `state`: from its
-- record, if there is one.
function lost.is_incomplete(state, at)
  return not state or state == 'complete' and redis.call('EXISTS', at) == 0
end

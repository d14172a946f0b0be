-- When files may be given up, and when what their senders have reserved may be taken back. The key
-- ENDS is the script's.

local LEASE = 'lease:' -- before the token of a file: the lease of its sender

-- A file whose time is over, or ''; and in how many ms the next one's is, or -1.
local function overdue_file()
  local first = redis.call('ZRANGE', ENDS, 0, 0, 'WITHSCORES')
  if not first[1] then
    return '', -1
  end
  local left = math.ceil(tonumber(first[2]) - now)
  return left <= 0 and first[1] or '', math.max(left, 0)
end

-- The sender of an open file was heard of just now.
local function note_lease(token, file)
  redis.call('ZADD', ENDS, now + file.lease + file.resume, token)
  if file.reserved > file.sent then
    redis.call('ZADD', ENDS, now + file.lease, LEASE .. token)
  else
    redis.call('ZREM', ENDS, LEASE .. token)
  end
end

local function forget_ends(token)
  redis.call('ZREM', ENDS, token, LEASE .. token)
end

-- When files may be given up, and when what their senders have reserved may be taken back.
-- include: keys

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

-- The sender of an open file was heard of just now. `key`: of its record.
local function note_lease(token, file, key)
  redis.call('HDEL', key, 'doubt', 'lease_doubt')
  redis.call('ZADD', ENDS, now + file.lease + file.resume, token)
  if file.reserved > file.sent then
    redis.call('ZADD', ENDS, now + file.lease, LEASE .. token)
  else
    redis.call('ZREM', ENDS, LEASE .. token)
  end
end

-- Whether the sender of an open file gets one more lease: the clock may have jumped, and a sender
-- that is there renews its lease in that time. `member`: of ENDS, whose time is over; `doubt`: the
-- field that remembers it.
local function is_doubtful(member, file, key, doubt)
  if file.state ~= 'open' or redis.call('HSET', key, doubt, 1) == 0 then
    return false
  end
  redis.call('ZADD', ENDS, now + file.lease, member)
  return true
end

local function forget_ends(token)
  redis.call('ZREM', ENDS, token, LEASE .. token)
end

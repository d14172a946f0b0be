-- Deadlines: when files may be given up, and when chunks that their senders have reserved may be
-- taken back.
-- include: keys

local deadlines = {}

local LEASE = 'lease:' -- prefix of a token: the lease of the file's sender

-- Returns a file whose time is over, or ''; and in how many ms the next file is overdue, or -1.
function deadlines.overdue()
  local first = redis.call('ZRANGE', ENDS, 0, 0, 'WITHSCORES')
  if not first[1] then
    return '', -1
  end
  local left = math.ceil(tonumber(first[2]) - now)
  return left <= 0 and first[1] or '', math.max(left, 0)
end

-- Notes that the sender of an open file is alive. `key`: the file's record.
function deadlines.note_lease(token, file, key)
  redis.call('HDEL', key, 'doubt', 'lease_doubt')
  redis.call('ZADD', ENDS, now + file.lease + file.resume, token)
  if file.reserved > file.sent then
    redis.call('ZADD', ENDS, now + file.lease, LEASE .. token)
  else
    redis.call('ZREM', ENDS, LEASE .. token)
  end
end

-- Gives the sender of an open file one more lease: the clock may have jumped, and a live sender
-- renews its lease within that time. `member`: the entry of ENDS that is over; `doubt`: the field
-- that marks the extra lease. False when the file is not open, or its sender had that lease
-- already.
function deadlines.put_off(member, file, key, doubt)
  if file.state ~= 'open' or redis.call('HSET', key, doubt, 1) == 0 then
    return false
  end
  redis.call('ZADD', ENDS, now + file.lease, member)
  return true
end

-- Removes the deadlines of a file.
function deadlines.remove(token)
  redis.call('ZREM', ENDS, token, LEASE .. token)
end

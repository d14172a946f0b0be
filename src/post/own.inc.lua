-- Messages of a member's own, which it neither fetches nor acknowledges. A member that has
-- acknowledged everything and sends acknowledges by sending. For any other, OWN has an entry for
-- each message that it sent: its name and the id. Mailboxes have no such key.

local own = {}

local OWN = KEYS[7] -- zset, all with the same score, so that entries are sorted by their bytes

-- The entries of a member stand side by side, in the order of ids. The length in front keeps them
-- apart from those of a member whose name begins with this one's.
function own.entry_of(member, id)
  return #member .. ':' .. member .. ':' .. string.format('%016.0f', id)
end

-- How many of the messages from one id to another are the member's own.
function own.count(member, from, to)
  if not OWN or from > to then
    return 0
  end
  return redis.call('ZLEXCOUNT', OWN, '[' .. own.entry_of(member, from), '[' .. own.entry_of(member, to))
end

-- The first message from this id on that is not the member's own; behind the last one when there is
-- none. A binary search finds it, in 53 steps at most: up to there all are its own.
function own.next_other(mailbag, member, from)
  if own.count(member, from, math.min(from, mailbag.last)) == 0 then
    return from -- the usual case
  end
  local low, high = from + 1, mailbag.last + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if own.count(member, from, middle) == middle - from + 1 then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- Notes that the messages from one id to another are the member's own.
function own.add(member, from, to)
  local entries = {}
  for id = from, to do
    entries[#entries + 1] = 0
    entries[#entries + 1] = own.entry_of(member, id)
  end
  redis.call('ZADD', OWN, unpack(entries))
end

-- Forgets the member's own messages up to an id.
function own.forget(member, upto)
  if OWN then
    redis.call('ZREMRANGEBYLEX', OWN, '[' .. own.entry_of(member, 0), '[' .. own.entry_of(member, upto))
  end
end

-- Sets when those of all members expire: with the messages.
function own.expire(at)
  if OWN then
    redis.call('PEXPIREAT', OWN, at)
  end
end

-- Takes that back.
function own.persist()
  if OWN then
    redis.call('PERSIST', OWN)
  end
end

-- Forgets those of all members.
function own.forget_all()
  if OWN then
    redis.call('UNLINK', OWN)
  end
end

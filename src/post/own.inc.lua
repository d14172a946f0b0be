-- A member's own messages, which it neither fetches nor acknowledges. When a member that has
-- acknowledged everything sends, its position moves behind its message. For other members OWN has
-- an entry for each message that they sent: the name and the id. Mailboxes have no such key.

local own = {}

local OWN = KEYS[7] -- zset, all with the same score, so that entries are sorted by their bytes

-- The entries of a member stand side by side, in the order of ids. The length in front keeps them
-- apart from the entries of a member with a longer name that begins with this name.
function own.entry_of(member, id)
  return #member .. ':' .. member .. ':' .. string.format('%016.0f', id)
end

-- How many of the messages from one id to another are the member's own.
function own.count(member, from, to)
  if not OWN or from > to then
    return 0
  end
  return redis.call('ZLEXCOUNT', OWN, '[' .. own.entry_of(member, from),
                    '[' .. own.entry_of(member, to))
end

-- Returns the first message from this id on that is not the member's own; the id behind the last
-- one when there is none. A binary search finds it, in 53 steps at most: all messages before it are
-- the member's own.
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
    redis.call('ZREMRANGEBYLEX', OWN, '[' .. own.entry_of(member, 0),
               '[' .. own.entry_of(member, upto))
  end
end

-- Makes the entries of all members expire at this time: together with the messages.
function own.expire(at)
  if OWN then
    redis.call('PEXPIREAT', OWN, at)
  end
end

-- Keeps the entries of all members from expiring.
function own.persist()
  if OWN then
    redis.call('PERSIST', OWN)
  end
end

-- Forgets the own messages of all members.
function own.forget_all()
  if OWN then
    redis.call('UNLINK', OWN)
  end
end

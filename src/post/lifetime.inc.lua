-- The lifetime of keys. Messages expire when all of them are too old, or when nothing was sent for
-- the time to live. A chat then expires as a whole. A mailbox stays, with its limits and ids: its
-- next message would create it again, but without its limits. Keys that belong together expire at
-- the same moment.
-- include: keys
-- include: own

local lifetime = {}

-- Sets when the keys expire. `owner`: the owner of a mailbox; '': it is a chat.
function lifetime.expire(mailbag, owner)
  local longest = math.min(mailbag.max_age, mailbag.ttl)
  if longest < math.huge then
    redis.call('PEXPIREAT', MESSAGES, now + longest)
    redis.call('PEXPIREAT', MARKS, now + longest)
    own.expire(now + longest)
  end
  if mailbag.ttl < math.huge and owner == '' then
    redis.call('PEXPIREAT', STATE, now + mailbag.ttl)
    redis.call('PEXPIREAT', READERS, now + mailbag.ttl)
  end
end

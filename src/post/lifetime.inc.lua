-- When keys expire by themselves: messages when all of them are too old, and everything when
-- nothing was sent for the time to live. Keys that belong together expire at the same moment.
-- include: keys

local function expire(line)
  local messages = math.min(line.max_age, line.ttl)
  if messages < math.huge then
    redis.call('PEXPIREAT', MESSAGES, now + messages)
    redis.call('PEXPIREAT', MARKS, now + messages)
  end
  if line.ttl < math.huge then
    redis.call('PEXPIREAT', STATE, now + line.ttl)
    redis.call('PEXPIREAT', READERS, now + line.ttl)
  end
end

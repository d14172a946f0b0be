-- When keys expire by themselves: messages when all of them are too old, and everything when nothing
-- was sent for the time to live.

local function expire(line)
  local messages = math.min(line.max_age, line.ttl)
  if messages < math.huge then
    redis.call('PEXPIRE', MESSAGES, messages)
    redis.call('PEXPIRE', MARKS, messages)
  end
  if line.ttl < math.huge then
    redis.call('PEXPIRE', STATE, line.ttl)
    redis.call('PEXPIRE', READERS, line.ttl)
  end
end

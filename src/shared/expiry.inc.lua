-- The expiry of keys, after a ttl in milliseconds: '0' for never.

local expiry = {}

-- Sets the ttl of a key.
function expiry.set(key, ttl)
  if ttl ~= '0' then
    redis.call('PEXPIRE', key, ttl)
  else
    redis.call('PERSIST', key)
  end
end

-- Sets the ttl of all keys of one thing after the last write: they expire together, or none does.
-- `first` is a key that always exists.
function expiry.together(first, others, ttl)
  if ttl == '0' and redis.call('PERSIST', first) == 0 then
    return -- a ttl of another handle would be on the first key, too
  end
  for _, key in ipairs({first, unpack(others)}) do
    expiry.set(key, ttl)
  end
end

-- Keys of one thing expire together, or none does.

-- After the last write: `first` is a key that always exists; '0' for no ttl.
local function expire_together(first, others, ttl)
  if ttl == '0' and redis.call('PERSIST', first) == 0 then
    return -- another handle's ttl would be on the first, too
  end
  for _, key in ipairs({first, unpack(others)}) do
    if ttl ~= '0' then
      redis.call('PEXPIRE', key, ttl)
    else
      redis.call('PERSIST', key)
    end
  end
end

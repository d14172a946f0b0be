-- The types of keys. Before its first write a script checks the types of the keys that it has not
-- read: a key of another program ends the script before it changes anything.

local types = {}

function types.check_hashes(...)
  for _, key in ipairs({...}) do
    redis.call('HLEN', key)
  end
end

function types.check_zsets(...)
  for _, key in ipairs({...}) do
    redis.call('ZCARD', key)
  end
end

-- The types of keys. A script checks the keys that it has not read before its first write: one that
-- another program has put there ends it before anything is changed.

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

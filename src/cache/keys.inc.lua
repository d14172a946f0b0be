-- The keys of a cached value, in the order in which every script gets them.

local keys = {}

local ENTRY = KEYS[1] -- string: a header and the value; also the name of the sharded channel
local LEASE = KEYS[2] -- string: token of the caller that computes the value, or 'failed'

-- Publishes news to the waiters: 'ready' to look again, 'failed' when the computation has failed.
-- If the user may not publish, waiters look when the lease ends.
function keys.notify(news)
  redis.pcall('SPUBLISH', ENTRY, news)
end

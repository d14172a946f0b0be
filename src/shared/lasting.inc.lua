-- Keys that live as long as their contents.
-- include: shared/decimal

local lasting = {}

-- Keeps the key at least until `till` (ms). Adds `more`, so that not every call has to prolong it.
-- A later expiry stays: it was set before the clock was set back, for older contents of the key.
function lasting.keep_until(key, till, more)
  if redis.call('PEXPIRETIME', key) < till then
    redis.call('PEXPIREAT', key, decimal.whole(till + more))
  end
end

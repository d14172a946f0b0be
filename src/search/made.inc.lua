-- Bitmaps that are made in steps, and kept. Two keys are the script's: BITS while one is made, MADE
-- when it is.
-- include: keys

-- Begins a step. True when the bitmap is made already, and is kept for longer now.
local function is_made(from, ttl)
  if from == 0 and redis.call('EXISTS', MADE) == 1 then
    redis.call('PEXPIRE', MADE, ttl)
    return true
  elseif from == 0 then
    redis.call('DEL', BITS)
  end
  redis.call('PEXPIRE', BITS, ttl) -- a first write that is allowed when the server is out of memory
  return false
end

-- Ends the last step: documents that died meanwhile are none of it.
local function finish(ttl)
  redis.call('BITOP', 'AND', MADE, BITS, LIVE)
  redis.call('DEL', BITS)
  redis.call('PEXPIRE', MADE, ttl)
end

-- Making bitmaps in steps, to be kept. `bits` is the key of a bitmap while it is made, `made` the
-- key of the complete one.
-- include: keys

local making = {}

-- Begins a step. Returns true when the bitmap exists already, which is then kept for longer.
function making.is_made(bits, made, is_first, ttl)
  if is_first and redis.call('EXISTS', made) == 1 then
    redis.call('PEXPIRE', made, ttl)
    return true
  elseif is_first then
    redis.call('DEL', bits)
  end
  redis.call('PEXPIRE', bits, ttl)
  return false
end

-- Ends the last step, and leaves out documents that died in the meantime.
function making.finish(bits, made, ttl)
  redis.call('BITOP', 'AND', made, bits, LIVE)
  redis.call('DEL', bits)
  redis.call('PEXPIRE', made, ttl)
end

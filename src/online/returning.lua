-- online/returning: how many of today's users were there on a day before.
-- KEYS[1] scratch   for the result of a combination, removed at once
-- KEYS[2...] days   today first; of bitmaps one chunk
-- ARGV[1] kind
-- ARGV[2] start     of today, as the client thinks, in ms
-- ARGV[3] till      the end of it
-- returns {code, now, users of today, those of them who were there before}: TKL_OK; ANOTHER_DAY:
-- today is another day
local FIRST_BEFORE = 3 -- of the keys
local SCRATCH, TODAY = unpack(KEYS)
local before = {unpack(KEYS, FIRST_BEFORE)}
local kind, start, till = unpack(ARGV)
-- include: online

local function of_sets()
  redis.call('SUNIONSTORE', SCRATCH, unpack(before))
  local returning = redis.call('SINTERCARD', 2, SCRATCH, TODAY)
  redis.call('DEL', SCRATCH)
  return redis.call('SCARD', TODAY), returning
end

local function of_bits()
  redis.call('BITOP', 'OR', SCRATCH, unpack(before))
  redis.call('BITOP', 'AND', SCRATCH, SCRATCH, TODAY)
  local returning = redis.call('BITCOUNT', SCRATCH)
  redis.call('DEL', SCRATCH)
  return redis.call('BITCOUNT', TODAY), returning
end

-- Estimates: who is not new has returned.
local function of_estimates()
  local today, all = redis.call('PFCOUNT', TODAY), redis.call('PFCOUNT', TODAY, unpack(before))
  local fresh = math.max(0, all - redis.call('PFCOUNT', unpack(before)))
  return today, math.max(0, today - fresh)
end

local now_ms = clock_ms()
if not is_today(now_ms, start, till) then
  return {ANOTHER_DAY, now_ms, 0, 0}
end
local count = {set = of_sets, bitmap = of_bits, assigned = of_bits, hll = of_estimates}
return {TKL_OK, now_ms, count[kind]()}

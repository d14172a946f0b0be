-- online/returning: count the users of a day, and how many of them were there on other days.
-- KEYS[1] scratch   for the result of a combination, removed at once
-- KEYS[2...] days   that day, and the other days; for bitmaps one chunk of each
-- ARGV[1] kind
-- ARGV[2] start     of today, as the client thinks, in ms
-- ARGV[3] till      end of today
-- flags: allow-oom
-- returns {code, now, users of that day, users of that day who were there on another one}:
--   TKL_OK; ANOTHER_DAY: today is another day
-- include: online

local FIRST_OTHER = 3 -- index of the first other day in the keys
local SCRATCH, DAY = unpack(KEYS)
local others = {unpack(KEYS, FIRST_OTHER)}
local kind, start, till = unpack(ARGV)

local function of_sets()
  local users = redis.call('SCARD', DAY)
  if #others == 1 then
    return users, redis.call('SINTERCARD', 2, DAY, others[1])
  end
  redis.call('SUNIONSTORE', SCRATCH, unpack(others))
  local returning = redis.call('SINTERCARD', 2, SCRATCH, DAY)
  redis.call('DEL', SCRATCH)
  return users, returning
end

local function of_bits()
  redis.call('BITOP', 'OR', SCRATCH, unpack(others))
  redis.call('BITOP', 'AND', SCRATCH, SCRATCH, DAY)
  local returning = redis.call('BITCOUNT', SCRATCH)
  redis.call('DEL', SCRATCH)
  return redis.call('BITCOUNT', DAY), returning
end

-- Estimates: users who are not new have returned.
local function of_estimates()
  local users, all = redis.call('PFCOUNT', DAY), redis.call('PFCOUNT', DAY, unpack(others))
  local fresh = math.max(0, all - redis.call('PFCOUNT', unpack(others)))
  return users, math.max(0, users - fresh)
end

local now_ms = clock.ms()
if not online.is_today(now_ms, start, till) then
  return {ANOTHER_DAY, now_ms, 0, 0}
end
local count = {set = of_sets, bitmap = of_bits, assigned = of_bits, hll = of_estimates}
return {TKL_OK, now_ms, count[kind]()}

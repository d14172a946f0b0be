-- online/count: count the users of some days.
-- KEYS[1] scratch   for the result of a combination, removed at once
-- KEYS[2...] days   their keys; for bitmaps one chunk of each
-- ARGV[1] kind
-- ARGV[2] over      any or every
-- ARGV[3] window    ms, of a heartbeat
-- ARGV[4] start     of today, as the client thinks, in ms
-- ARGV[5] till      end of today
-- flags: allow-oom
-- returns {code, now, count}: TKL_OK; ANOTHER_DAY: today is another day
-- include: online

local FIRST_DAY = 2 -- index of the first day in the keys

local SCRATCH, days = KEYS[1], {unpack(KEYS, FIRST_DAY)}
local kind, over, window, start, till = unpack(ARGV)

-- Counts the combination in SCRATCH, and removes it.
local function counted(command)
  local result = redis.call(command, SCRATCH)
  redis.call('DEL', SCRATCH)
  return result
end

local function count_sets()
  if #days == 1 then
    return redis.call('SCARD', days[1])
  elseif over == 'every' then
    return redis.call('SINTERCARD', #days, unpack(days))
  end
  redis.call('SUNIONSTORE', SCRATCH, unpack(days))
  return counted('SCARD')
end

local function count_bits()
  if #days == 1 then
    return redis.call('BITCOUNT', days[1])
  end
  redis.call('BITOP', over == 'every' and 'AND' or 'OR', SCRATCH, unpack(days))
  return counted('BITCOUNT')
end

local count = {
  set = count_sets,
  bitmap = count_bits,
  assigned = count_bits,
  hll = function() return redis.call('PFCOUNT', unpack(days)) end,
  heartbeat = function(now_ms)
    local oldest, newest = online.window_around(now_ms, window)
    return redis.call('ZCOUNT', days[1], '(' .. oldest, newest)
  end,
}

local now_ms = clock.ms()
if kind ~= 'heartbeat' and not online.is_today(now_ms, start, till) then
  return {ANOTHER_DAY, now_ms, 0}
end
return {TKL_OK, now_ms, count[kind](now_ms)}

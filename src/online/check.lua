-- online/check: whether a user was there on a day, or is there now.
-- KEYS[1] ids     hash: numbers of users, of an assigned bitmap
-- KEYS[2...] day  its key; for a bitmap all its chunks
-- ARGV[1] kind
-- ARGV[2] user
-- ARGV[3] window  ms, of a heartbeat
-- ARGV[4] start   of today, as the client thinks, in ms
-- ARGV[5] till    end of today
-- flags: no-writes
-- returns {code, now, 1 or 0}: TKL_OK; ANOTHER_DAY: today is another day
-- include: online

local FIRST_CHUNK = 2 -- index of the first chunk in the keys
local IDS, DAY = unpack(KEYS)
local chunks = {unpack(KEYS, FIRST_CHUNK)}
local kind, user, window, start, till = unpack(ARGV)

local function is_set(number)
  return redis.call('GETBIT', chunks[math.floor(number / CHUNK) + 1], decimal.whole(number % CHUNK))
end

local present = {
  set = function() return redis.call('SISMEMBER', DAY, user) end,
  bitmap = function() return is_set(user) end,
  assigned = function()
    local number = redis.call('HGET', IDS, user)
    return number and is_set(number) or 0
  end,
  heartbeat = function(now_ms)
    local last = tonumber(redis.call('ZSCORE', DAY, user) or 0)
    return last > now_ms - window and last <= now_ms + window and 1 or 0
  end,
}

local now_ms = clock.ms()
if kind ~= 'heartbeat' and not online.is_today(now_ms, start, till) then
  return {ANOTHER_DAY, now_ms, 0}
end
return {TKL_OK, now_ms, present[kind](now_ms)}

-- online/unmark: remove the marks of users on a day, or now.
-- KEYS[1] settings  hash, see online.c
-- KEYS[2] ids       hash: numbers of users, of an assigned bitmap
-- KEYS[3...] day    set or zset, by kind; for a bitmap all its chunks
-- ARGV[1] kind      set, bitmap, assigned or heartbeat
-- ARGV[2] zone
-- ARGV[3] keep      days
-- ARGV[4] window    ms
-- ARGV[5] start     of today, as the client thinks, in ms
-- ARGV[6] till      end of today
-- ARGV[7...] users
-- flags: allow-oom
-- returns {code, now, how many were marked before}: TKL_OK; TKL_CONFLICT: the name has other
--   settings; ANOTHER_DAY: today is another day
-- include: online

local FIRST_CHUNK, FIRST_USER = 3, 7 -- indexes in the keys and in the arguments
local BITS = 8 -- in a byte
local SETTINGS, IDS, DAY = unpack(KEYS)
local chunks = {unpack(KEYS, FIRST_CHUNK)}
local kind, zone, keep, window, start, till = unpack(ARGV)
local users = {unpack(ARGV, FIRST_USER)}
local now_ms = clock.ms()
local wanted = table.concat({kind, zone, keep, window}, ' ')

-- Clears the bits of these numbers (false: a user without one). Returns how many were 1. A bit
-- behind the end of a bitmap is 0: setting it would make the bitmap longer.
local function clear_bits(numbers)
  local words, lengths, marked = {}, {}, 0
  for _, number in ipairs(numbers) do
    local chunk = math.floor((number or 0) / CHUNK) + 1
    lengths[chunk] = lengths[chunk] or redis.call('STRLEN', chunks[chunk])
    if number and number % CHUNK < lengths[chunk] * BITS then
      local list = words[chunk] or {}
      local n = #list
      list[n + 1], list[n + 2], list[n + 3] = 'SET', 'u1', decimal.whole(number % CHUNK)
      list[n + 4] = '0'
      words[chunk] = list
    end
  end
  for chunk, list in pairs(words) do
    for _, bit in ipairs(redis.call('BITFIELD', chunks[chunk], unpack(list))) do
      marked = marked + bit
    end
  end
  return marked
end

-- Removes the marks of a heartbeat. Marks that have left the window do not count.
local function end_beats()
  local oldest, newest = online.window_around(now_ms, window)
  local marked = 0
  for i, score in ipairs(redis.call('ZMSCORE', DAY, unpack(users))) do
    local last = tonumber(score or 0)
    if redis.call('ZREM', DAY, users[i]) == 1 and last > tonumber(oldest)
       and last <= tonumber(newest) then
      marked = marked + 1
    end
  end
  return marked
end

local unmark = {
  set = function() return redis.call('SREM', DAY, unpack(users)) end,
  bitmap = function() return clear_bits(users) end,
  assigned = function() return clear_bits(redis.call('HMGET', IDS, unpack(users))) end,
  heartbeat = end_beats,
}

if kind ~= 'heartbeat' and not online.is_today(now_ms, start, till) then
  return {ANOTHER_DAY, now_ms, 0}
end
local stored = redis.call('HGET', SETTINGS, 'shape')
if stored and stored ~= wanted then
  return {TKL_CONFLICT, now_ms, 0}
end
return {TKL_OK, now_ms, stored and unmark[kind]() or 0}

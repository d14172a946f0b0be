-- online/mark: mark users as present on a day, or now.
-- KEYS[1] settings  hash, see online.c
-- KEYS[2] ids       hash: numbers of users, of an assigned bitmap
-- KEYS[3...] day    set, HyperLogLog or zset, by kind; for a bitmap all its chunks
-- ARGV[1] kind      set, bitmap, assigned, hll or heartbeat
-- ARGV[2] zone
-- ARGV[3] keep      days
-- ARGV[4] window    ms
-- ARGV[5] start     of today, as the client thinks, in ms
-- ARGV[6] till      end of today
-- ARGV[7] ago       how many days before today the day was
-- ARGV[8...] users
-- returns {code, now, how many were not marked before}: TKL_OK; TKL_CONFLICT: the name has other
--   settings; ANOTHER_DAY: today is another day
-- include: online
-- include: shared/lasting

local FIRST_CHUNK, FIRST_USER = 3, 8 -- indexes in the keys and in the arguments
-- Most users whose marks have left the window that one call removes, beyond the number that it
-- adds.
local AT_ONCE = 1000
-- A day on which clocks are set back is longer, by at most two hours.
local LONGER_MS = 7200000
-- A bitmap whose allocation is this many times as large as its bytes is copied.
local SPACIOUS, HEADER = 1.4, 4096
local SETTINGS, IDS, DAY = unpack(KEYS)
local chunks = {unpack(KEYS, FIRST_CHUNK)}
local kind, zone, keep, window, start, till, ago = unpack(ARGV)
local users = {unpack(ARGV, FIRST_USER)}

local now_ms = clock.ms()
-- The marks of this call last until `kept`. A heartbeat's key is prolonged once a window.
local kept = kind == 'heartbeat' and now_ms + window
             or till + (keep - 1 - ago) * DAY_MS + LONGER_MS
local more = kind == 'heartbeat' and window or 0
local wanted = table.concat({kind, zone, keep, window}, ' ')

local stored = redis.call('HGET', SETTINGS, 'shape')

-- Makes the new key of a day expire, and the settings with the last day.
local function lasts(key)
  if stored and redis.call('PEXPIRETIME', key) >= kept then
    return
  end
  redis.call('HSET', SETTINGS, 'shape', wanted)
  lasting.keep_until(key, kept, more)
  lasting.keep_until(SETTINGS, kept, more)
end

-- Copies a bitmap that has grown: the server allocates twice the needed bytes for a growing string.
-- A copy has what it needs, up to the next size of the allocator: at most a quarter more.
local function drop_slack(key, length_before)
  local length = redis.call('STRLEN', key)
  if length > length_before
     and redis.call('MEMORY', 'USAGE', key) > SPACIOUS * length + HEADER then
    redis.call('BITOP', 'OR', key, key)
  end
end

-- Sets the bits of these numbers. Returns how many were 0.
local function set_bits(numbers)
  local words = {}
  for _, number in ipairs(numbers) do
    local chunk = math.floor(number / CHUNK) + 1
    local list = words[chunk] or {}
    local n = #list
    list[n + 1], list[n + 2], list[n + 3] = 'SET', 'u1', decimal.whole(number % CHUNK)
    list[n + 4] = '1'
    words[chunk] = list
  end
  local fresh = 0
  for chunk, list in pairs(words) do
    local key = chunks[chunk]
    local length = redis.call('STRLEN', key)
    for _, bit in ipairs(redis.call('BITFIELD', key, unpack(list))) do
      fresh = fresh + 1 - bit
    end
    drop_slack(key, length)
    lasts(key) -- a copy has no expiry, either
  end
  return fresh
end

-- Returns the number of each user. A user without a number gets the next one.
local function numbers_of(users)
  local numbers, given = redis.call('HMGET', IDS, unpack(users)), {}
  local next_one = redis.call('HLEN', IDS)
  if next_one + #users > #chunks * CHUNK then
    error({err = 'ERR as many users have numbers as a bitmap can have'})
  end
  for i, user in ipairs(users) do
    if not numbers[i] and not given[user] then
      given[user] = decimal.whole(next_one)
      redis.call('HSET', IDS, user, given[user])
      next_one = next_one + 1
    end
    numbers[i] = numbers[i] or given[user]
  end
  return numbers
end

-- Removes users whose marks are between these times.
local function remove_marks(first, last)
  local gone = redis.call('ZRANGE', DAY, first, last, 'BYSCORE', 'LIMIT', '0', AT_ONCE)
  if gone[1] then
    redis.call('ZREM', DAY, unpack(gone))
  end
end

-- Marks the users of a heartbeat.
local function beat(users)
  local oldest, newest = online.window_around(now_ms, window)
  remove_marks('-inf', oldest)
  remove_marks('(' .. newest, '+inf')
  local words = {}
  for i, user in ipairs(users) do
    words[2 * i - 1], words[2 * i] = decimal.whole(now_ms), user
  end
  local fresh = redis.call('ZADD', DAY, unpack(words))
  lasts(DAY)
  return fresh
end

-- Marks by one command, and returns its answer.
local function mark_by(command)
  return function(users)
    local fresh = redis.call(command, DAY, unpack(users))
    lasts(DAY)
    return fresh
  end
end

local mark = {
  set = mark_by('SADD'),
  bitmap = set_bits,
  assigned = function(users)
    local fresh = set_bits(numbers_of(users))
    lasting.keep_until(IDS, kept, more)
    return fresh
  end,
  hll = mark_by('PFADD'),
  heartbeat = beat,
}

if kind ~= 'heartbeat' and not online.is_today(now_ms, start, till) then
  return {ANOTHER_DAY, now_ms, 0}
end
if stored and stored ~= wanted then
  return {TKL_CONFLICT, now_ms, 0}
end
return {TKL_OK, now_ms, mark[kind](users)}

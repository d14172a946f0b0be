-- online/mark: mark users as present today, or now.
-- KEYS[1] settings  hash, see online.c
-- KEYS[2] ids       hash: numbers of users, of an assigned bitmap
-- KEYS[3] day       set, string, HyperLogLog or zset, by kind
-- ARGV[1] kind      set, bitmap, assigned, hll or heartbeat
-- ARGV[2] zone
-- ARGV[3] keep      days
-- ARGV[4] window    ms
-- ARGV[5] start     of today, as the client thinks, in ms
-- ARGV[6] till      the end of it
-- ARGV[7...] users
-- returns {code, now, how many were not marked before}: 0 done; 9 (TKL_CONFLICT) the settings are
-- others; 1 today is another day
local SETTINGS, IDS, DAY = KEYS[1], KEYS[2], KEYS[3]
local kind, zone, keep, window, start, till = unpack(ARGV)
-- include: online

local DONE, ANOTHER_DAY, OTHER_SETTINGS = 0, 1, 9
-- Of a heartbeat: users who left that one mark forgets, beyond those it brings.
local AT_ONCE = 1000

-- Sets the bits of these numbers; returns how many were 0.
local function set_bits(numbers)
  local words = {}
  for i, number in ipairs(numbers) do
    local at = 4 * (i - 1)
    words[at + 1], words[at + 2], words[at + 3], words[at + 4] = 'SET', 'u1', '#' .. number, '1'
  end
  local fresh = 0
  for _, bit in ipairs(redis.call('BITFIELD', DAY, unpack(words))) do
    fresh = fresh + 1 - bit
  end
  return fresh
end

-- The number of each user; who has none gets the next.
local function numbers_of(users)
  local numbers, given, last = redis.call('HMGET', IDS, unpack(users)), {}, nil
  for i, user in ipairs(users) do
    if not numbers[i] and not given[user] then
      last = (last or redis.call('HLEN', IDS) - 1) + 1
      given[user] = digits(last)
      redis.call('HSET', IDS, user, given[user])
    end
    numbers[i] = numbers[i] or given[user]
  end
  return numbers
end

local function beat(users, now_ms)
  local words = {}
  for i, user in ipairs(users) do
    words[2 * i - 1], words[2 * i] = digits(now_ms), user
  end
  local fresh = redis.call('ZADD', DAY, unpack(words))
  local gone = redis.call('ZRANGE', DAY, '-inf', digits(now_ms - window), 'BYSCORE',
                          'LIMIT', '0', AT_ONCE)
  if gone[1] then
    redis.call('ZREM', DAY, unpack(gone))
  end
  return fresh
end

local mark = {
  set = function(users) return redis.call('SADD', DAY, unpack(users)) end,
  bitmap = set_bits,
  assigned = function(users) return set_bits(numbers_of(users)) end,
  hll = function(users) return redis.call('PFADD', DAY, unpack(users)) end,
  heartbeat = beat,
}

local now_ms = clock()
if kind ~= 'heartbeat' and not is_today(now_ms, start, till) then
  return {ANOTHER_DAY, now_ms, 0}
end
local wanted = table.concat({kind, zone, keep, window}, ' ')
local stored = redis.call('HGET', SETTINGS, 'shape')
if stored and stored ~= wanted then
  return {OTHER_SETTINGS, now_ms, 0}
end

local is_new = redis.call('EXISTS', DAY) == 0
local fresh = mark[kind]({unpack(ARGV, 7)}, now_ms)
local lives = kind == 'heartbeat' and window + 0 or till - now_ms + (keep - 1) * DAY_MS
if is_new or kind == 'heartbeat' then
  redis.call('HSET', SETTINGS, 'shape', wanted)
  redis.call('PEXPIRE', DAY, digits(lives))
  redis.call('PEXPIRE', SETTINGS, digits(lives))
end
if kind == 'assigned' then
  redis.call('PEXPIRE', IDS, digits(lives))
end
return {DONE, now_ms, fresh}

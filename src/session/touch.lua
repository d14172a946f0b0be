-- session/touch: note a use of a session, and the item that was viewed.
-- KEYS[1...] store  see keys.inc.lua; the last is what the session viewed
-- ARGV[1] id         of the session
-- ARGV[2] item       '' for none
-- ARGV[3] items      that a session remembers
-- ARGV[4] ranked     items in the ranking
-- ARGV[5] half_life  ms; -1: views count the same for ever
-- returns TKL_OK, or TKL_NOTFOUND when the session has ended
-- include: keys
local id, item, items, ranked, half_life = unpack(ARGV)
-- include: session
-- include: ranking

-- Ended sessions that one use of the store forgets: more than can come in the same time.
local AT_ONCE = 2

-- The time to note for a view. It is behind that of the latest one also when the clock was set back.
local function time_of_view(now)
  local newest = redis.call('ZRANGE', ITEMS, '-1', '-1', 'WITHSCORES')[2]
  return math.max(now, (tonumber(newest) or 0) + 1)
end

-- Puts the item in front of those that the session remembers.
local function remember(time)
  redis.call('ZADD', ITEMS, digits(time), item)
  redis.call('ZREMRANGEBYRANK', ITEMS, '0', digits(-items - 1))
end

local now = clock_us()
local now_ms = to_ms(now)
local session = find(id, now_ms)
if session then
  local ends = now_ms + session.ttl
  if item ~= '' then
    local time = time_of_view(now) -- reading first: what is in the way is found in time
    rank(item, now / US_PER_MS, tonumber(half_life), tonumber(ranked))
    remember(time)
  end
  prolong(id, ends)
  redis.call('PEXPIREAT', ITEMS, digits(ends))
end
forget_ended(now_ms, AT_ONCE)
return session and TKL_OK or TKL_NOTFOUND

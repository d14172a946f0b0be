-- session/touch: note a use of a session, and the item that was viewed.
-- KEYS[1...] store  see keys.inc.lua; the last two are of this session
-- ARGV[1] id         of the session
-- ARGV[2] item       '' for none
-- ARGV[3] items      that a session remembers
-- ARGV[4] ranked     items in the ranking
-- ARGV[5] half_life  ms; -1: views count the same for ever; 0: as the ranking has it
-- ARGV[6] read       1: the session and its data are wanted
-- returns TKL_OK; with `read` {user, created, now, end, {field, value, ...}}, times in ms;
--   TKL_NOTFOUND when the session has ended; {half-life} when the ranking has another half-life
-- include: keys
-- include: sessions
-- include: rankings

-- Ended sessions that one use of the store removes. A use begins or prolongs at most one session,
-- so two are enough.
local AT_ONCE = 2
local id, item, items, most_ranked, half_life, read = unpack(ARGV)

-- The time to store for a view. It is always later than the latest one, even when the clock was set
-- back.
local function time_of_view(now)
  local newest = redis.call('ZRANGE', ITEMS, '-1', '-1', 'WITHSCORES')[2]
  return math.max(now, (tonumber(newest) or 0) + 1)
end

-- Adds the item as the latest item that the session remembers.
local function remember(time)
  if redis.call('ZADD', ITEMS, decimal.whole(time), item) == 1 then
    redis.call('ZREMRANGEBYRANK', ITEMS, '0', decimal.whole(-items - 1))
  end
end

local now = clock.us()
local now_ms = clock.to_ms(now)
local session = sessions.find(id, now_ms)
local data = session and read == '1' and redis.call('HGETALL', DATA)
if session and item ~= '' then
  local time = time_of_view(now) -- reads first: a wrong type fails before any write
  local ranking = rankings.read(tonumber(half_life))
  if not ranking.fits then
    return {ranking.half_life}
  end
  rankings.count_view(ranking, item, now / US_PER_MS, tonumber(most_ranked))
  rankings.keep(ranking, now_ms)
  remember(time)
end
if session then
  local ends = now_ms + session.ttl
  redis.call('ZADD', ENDS, decimal.whole(ends), id)
  sessions.keep_store(ends, session.ttl)
  session.ends = ends
  for _, key in ipairs({ITEMS, DATA}) do
    lasting.keep_until(key, ends, sessions.slack_of(session.ttl))
  end
end
sessions.forget_ended(now_ms, AT_ONCE)
if data then
  return {session.user, session.created, now_ms, session.ends, data}
end
return session and TKL_OK or TKL_NOTFOUND

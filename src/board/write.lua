-- board/write: change the scores of members.
-- KEYS[1] settings  hash, see board.c
-- KEYS[2] ranks
-- KEYS[3] members
-- ARGV[1] shape     of the board: "order per zone keep"
-- ARGV[2] start     of the season, as the client thinks, in ms
-- ARGV[3] till      the end of it
-- ARGV[4] season    its name
-- ARGV[5] kept      when it expires, in ms; '0' never
-- ARGV[6] how       add, set or best
-- ARGV[7...] member, score  a number is as it is stored: the less the better
-- returns {code, now, how many scores changed}: TKL_OK; TKL_CONFLICT: the board has another shape;
--   ANOTHER_SEASON
-- include: board
-- include: shared/lasting

local FIRST = 7 -- index of the first member in the arguments
local LARGEST = 1.7976931348623157e308
local shape, start, till, season, kept, how = unpack(ARGV)

local now = clock.us()
local refusal = board.refusal(now, shape, start, till)
if refusal then
  return refusal
end

-- The new score of a member that has `score`, nil for a new one.
local change = {
  set = function(score, number) return number end,
  best = function(score, number) return score and math.min(score, number) or number end,
  add = function(score, number)
    return math.max(-LARGEST, math.min(LARGEST, (score or 0) + number))
  end,
}

-- Removes the seasons that have expired from the settings: there are at most some hundred.
local function forget_seasons()
  local fields = redis.call('HGETALL', SETTINGS)
  for i = 1, #fields, 2 do
    local ends = tonumber(fields[i + 1])
    if ends and ends ~= 0 and ends <= clock.to_ms(now) then
      redis.call('HDEL', SETTINGS, fields[i])
    end
  end
end

local ranked = board.count_members()
-- Each change takes the server more than a microsecond, so the stamps of this call are over when
-- the next call begins.
local changed = 0
for i = FIRST, #ARGV, 2 do
  local member = ARGV[i]
  local stamp, score = board.find(member)
  local score_now = change[how](score, tonumber(ARGV[i + 1]))
  if score_now ~= score then
    if stamp then
      redis.call('ZREM', RANKS, board.element(stamp, member))
    end
    board.store(member, now + changed, score_now)
    changed = changed + 1
  end
end
if ranked == 0 and changed > 0 then
  forget_seasons()
  redis.call('HSET', SETTINGS, 'shape', shape, 'season:' .. season, kept)
  if kept ~= '0' then
    for _, key in ipairs({RANKS, MEMBERS, SETTINGS}) do
      lasting.keep_until(key, tonumber(kept), 0)
    end
  end
end
return {TKL_OK, clock.to_ms(now), changed}

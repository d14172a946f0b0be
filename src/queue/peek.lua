-- queue/peek: some jobs of a state.
-- KEYS[1] place     the zset of the state
-- KEYS[2] jobs
-- KEYS[3] extras
-- ARGV[1] skip
-- ARGV[2] max
-- ARGV[3] order     '' or REV
-- ARGV[4] at        where the id is in a member: 1, or -13 for those parked
-- returns member, score, record, extra and progress of each; fewer when they are large
local MOST = 16000000 -- bytes

local skip, max, at = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local order = ARGV[3] ~= '' and {ARGV[3], 'WITHSCORES'} or {'WITHSCORES'}
local answer, bytes = {}, 0

local function add(member, score)
  local id = string.sub(member, at, at > 0 and 13 or -1)
  local record = redis.call('HGET', KEYS[2], id)
  if record then -- neither a schedule nor a timer
    local more = redis.call('HMGET', KEYS[3], id, 'p' .. id)
    bytes, max = bytes + #record, max - 1
    for _, part in ipairs({member, score, record, more[1] or '', more[2] or ''}) do
      answer[#answer + 1] = part
    end
  end
end

for _ = 1, 100 do
  local found = redis.call('ZRANGE', KEYS[1], skip, skip + 199, unpack(order))
  for i = 1, #found, 2 do
    if max == 0 or bytes > MOST then
      return answer
    end
    add(found[i], found[i + 1])
  end
  if #found < 400 then
    return answer
  end
  skip = skip + 200
end
return answer

-- queue/peek: some jobs of a state.
-- KEYS[1] place     the zset of the state
-- KEYS[2] jobs
-- KEYS[3] extras
-- KEYS[4] delayed
-- ARGV[1] skip
-- ARGV[2] max
-- ARGV[3] order     '' or REV
-- ARGV[4] at        where the id is in a member: 1, or -13 for those parked
-- ARGV[5] due       delayed ones whose time has come are: with them, without them, or '' as they are
-- returns member, score, record, extra and progress of each; fewer when they are large
-- include: clock
-- include: due_jobs
local MOST = 16000000 -- bytes

local skip, max, at = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local order = ARGV[3] ~= '' and {ARGV[3], 'WITHSCORES'} or {'WITHSCORES'}
local answer, bytes = {}, 0
local due = ARGV[5] == 'with' and due_jobs(KEYS[4], KEYS[2]) or {}
local over = math.min(skip, #due) -- those to skip that may be on either side
skip = skip - over
if ARGV[5] == 'without' then
  skip = skip + redis.call('ZCOUNT', KEYS[4], '-inf', stamp)
end

local function add(member, score)
  local id = string.sub(member, at, at > 0 and 13 or -1)
  local record = redis.call('HGET', KEYS[2], id)
  if not record or max == 0 or bytes > MOST then -- a schedule or a timer; enough
    return
  elseif over > 0 then
    over = over - 1
    return
  end
  local more = redis.call('HMGET', KEYS[3], id, 'p' .. id)
  bytes, max = bytes + #record, max - 1
  for _, part in ipairs({member, score, record, more[1] or '', more[2] or ''}) do
    answer[#answer + 1] = part
  end
end

-- The due ones that come before a score.
local function add_due(score)
  while due[1] and due[1][2] < score do
    add(due[1][1], string.format('%.0f', due[1][2]))
    table.remove(due, 1)
  end
end

for _ = 1, 100 do
  local found = redis.call('ZRANGE', KEYS[1], skip, skip + 199, unpack(order))
  for i = 1, #found, 2 do
    if max == 0 or bytes > MOST then
      return answer
    end
    add_due(tonumber(found[i + 1]))
    add(found[i], found[i + 1])
  end
  if #found < 400 then
    add_due(math.huge)
    return answer
  end
  skip = skip + 200
end
return answer

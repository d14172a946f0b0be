-- queue/peek: some jobs of a set.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] set       ready, delayed, active, parked, flow, dead or done
-- ARGV[2] skip
-- ARGV[3] max
-- ARGV[4] cut       bytes of each payload in the answer; 0 for all of it
-- flags: no-writes
-- returns what sets.append() says of each job; fewer jobs when they are large
-- include: shared/clock
-- include: sets
-- include: upcoming

now = clock.ms()
local BYTES, BYTES_CUT = 16000000, 4000000 -- bytes of records that are read for one answer
local STEP, STEPS = 200, 100 -- members read at once, and how often
local set, skip, max, cut = unpack(ARGV)
skip, max, cut = tonumber(skip), tonumber(max), tonumber(cut)

local key, order = sets.key(set), {'WITHSCORES', sets.order(set)}
local floor = sets.floor(set)
local soon = set == 'ready' and upcoming.ready() or {}
local answer, bytes, next_soon = {}, 0, 1
local skip_soon = math.min(skip, #soon) -- how many of the upcoming jobs to skip
skip = skip - skip_soon
if set == 'delayed' or set == 'active' then -- the first ones are due and count as ready
  skip = skip + redis.call('ZCOUNT', key, '-inf', decimal.whole(now))
end

local function is_enough()
  return max == 0 or bytes > (cut > 0 and BYTES_CUT or BYTES)
end

local function add(id, score, claim)
  if is_enough() then
    return
  elseif skip_soon > 0 then
    skip_soon = skip_soon - 1
    return
  end
  local record, read, kept = sets.read(set, id, cut)
  if record then -- schedules and timers have none
    bytes, max = bytes + read, max - 1
    sets.append(answer, id, score, record, claim, kept)
  end
end

-- Adds jobs that the next claim makes ready, up to a score: at most 2 * SOON in all.
local function add_soon(before)
  while soon[next_soon] and soon[next_soon].score < before do
    add(soon[next_soon].id, decimal.whole(soon[next_soon].score))
    next_soon = next_soon + 1
  end
end

for _ = 1, STEPS do
  local found = redis.call('ZRANGE', key, skip, skip + STEP - 1, unpack(order))
  for i = 1, #found, 2 do
    if is_enough() or tonumber(found[i + 1]) <= floor then
      return answer
    end
    local id = sets.id_of(set, found[i])
    add_soon(tonumber(found[i + 1]))
    add(id, found[i + 1], set == 'active' and found[i])
  end
  if #found < 2 * STEP then
    add_soon(math.huge)
    return answer
  end
  skip = skip + STEP
end
return answer

-- Exact window and concurrency: entries by the end of their lives. See the essay of limit.c.

-- include: basics
-- include: expiry

-- Entries that have ended and are removed in one go: more than one check can add.
local REMOVED_MAX = 2000
-- Entries of a ticket.
local TICKET_MAX = 1000

local function entry(kind, ticket, number)
  return kind .. ':' .. ticket .. ':' .. number
end

-- When the entry at this index ends; now if there is none.
local function end_of(key, index)
  local score = redis.call('ZRANGE', key, index, index, 'WITHSCORES')[2]
  if not score then
    return now
  end
  local ends = tonumber(score)
  if not ends or not (ends <= EXACT) then
    refuse()
  end
  return ends
end

-- Forgets entries that have ended; returns how many live, and how many others are still there.
local function count_alive(key, kind)
  local first = redis.call('ZRANGE', key, 0, 0)[1]
  if not first then
    return 0, 0
  end
  local found = string.match(first, '^(%a+):')
  if found ~= kind then
    refuse(found)
  end
  end_of(key, -1) -- refuses scores that are no times
  local alive = redis.call('ZCOUNT', key, '(' .. text_of(now), '+inf')
  local ended = redis.call('ZCARD', key) - alive
  local removed = math.min(ended, REMOVED_MAX)
  if removed > 0 then
    redis.call('ZREMRANGEBYRANK', key, 0, removed - 1)
  end
  return alive, ended - removed
end

local function expire_with_last(key)
  redis.call('PEXPIRE', key, expiry(math.max(1, end_of(key, -1) - now)))
end

-- Writes down entries that live until `till`; returns how many of them are new.
local function admit(key, kind, ticket, quantity, till)
  local words = {}
  for i = 1, quantity do
    words[#words + 1] = text_of(till)
    words[#words + 1] = entry(kind, ticket, i)
  end
  local added = redis.call('ZADD', key, 'NX', unpack(words))
  expire_with_last(key)
  return added
end

-- How many entries a ticket has: they are numbered from 1, without a gap. Each of the two loops has
-- at most as many rounds as TICKET_MAX has binary digits.
local function count_of(key, kind, ticket)
  local has, lacks = 0, 1
  while lacks <= TICKET_MAX and redis.call('ZSCORE', key, entry(kind, ticket, lacks)) do
    has, lacks = lacks, 2 * lacks
  end
  while lacks - has > 1 do
    local middle = math.floor((has + lacks) / 2)
    if redis.call('ZSCORE', key, entry(kind, ticket, middle)) then
      has = middle
    else
      lacks = middle
    end
  end
  return has
end

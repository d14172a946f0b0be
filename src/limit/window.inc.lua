-- Exact window and concurrency: entries by the end of their lives. See the essay of limit.c.
-- include: stored
-- include: expiries

local window = {}

-- Most ended entries to remove in one script: more than one check can add.
local REMOVED_MAX = 2000
-- Most entries of a ticket.
local TICKET_MAX = 1000
-- Score of the rule, which stands before all entries.
local RULE_SCORE = -1

-- An entry of a ticket, as it is stored.
function window.entry(kind, ticket, number)
  return kind .. ':' .. ticket .. ':' .. number
end

-- The rule of the last check that took something, from the first element; nil if it is an entry.
function window.rule_in(first)
  return string.match(first or '', '^%a+ rule (%d+ %d+ %d+)$')
end

-- Stores the rule. `first` is the first element.
function window.write_rule(key, kind, rule, first)
  if window.rule_in(first) == rule then
    return
  end
  if window.rule_in(first) then
    redis.call('ZREM', key, first)
  end
  redis.call('ZADD', key, RULE_SCORE, kind .. ' rule ' .. rule)
end

-- Removes the key when it has a rule, but no entries.
function window.drop_unused(key)
  if redis.call('ZCARD', key) == 1 and window.rule_in(redis.call('ZRANGE', key, 0, 0)[1]) then
    redis.call('DEL', key)
  end
end

-- The time at which the entry at this index ends; now if there is none.
function window.end_of(key, index)
  local score = redis.call('ZRANGE', key, index, index, 'WITHSCORES')[2]
  if not score then
    return now
  end
  local ends = tonumber(score)
  if not ends or not (ends <= EXACT) then
    stored.refuse()
  end
  return ends
end

-- Removes entries that have ended, unless it `only_reads`. Returns how many live, how many elements
-- stand before those, and the first element.
function window.count_alive(key, kind, only_reads)
  local first = redis.call('ZRANGE', key, 0, 0)[1]
  if not first then
    return 0, 0
  end
  local found = string.match(first, '^(%a+)[: ]')
  if found ~= kind then
    stored.refuse(found)
  end
  window.end_of(key, -1) -- refuses scores that are not times
  local alive = redis.call('ZCOUNT', key, '(' .. decimal.whole(now), '+inf')
  local ended = redis.call('ZCARD', key) - alive -- the rule included
  local kept = window.rule_in(first) and 1 or 0
  local removed = only_reads and 0 or math.min(ended - kept, REMOVED_MAX)
  if removed > 0 then
    redis.call('ZREMRANGEBYRANK', key, kept, kept + removed - 1)
  end
  return alive, ended - removed, first
end

-- Lets the key live as long as its last entry.
function window.expire_with_last(key)
  redis.call('PEXPIRE', key, expiries.ms(math.max(1, window.end_of(key, -1) - now)))
end

-- Writes entries that live until `till`. Returns how many of them are new.
function window.admit(key, kind, ticket, quantity, till)
  local words = {}
  for i = 1, quantity do
    words[#words + 1] = decimal.whole(till)
    words[#words + 1] = window.entry(kind, ticket, i)
  end
  local added = redis.call('ZADD', key, 'NX', unpack(words))
  window.expire_with_last(key)
  return added
end

-- The number of entries of a ticket. They are numbered from 1, without a gap. Each of the two loops
-- has at most as many rounds as TICKET_MAX has binary digits.
function window.count_of(key, kind, ticket)
  local has, lacks = 0, 1
  while lacks <= TICKET_MAX and redis.call('ZSCORE', key, window.entry(kind, ticket, lacks)) do
    has, lacks = lacks, 2 * lacks
  end
  while lacks - has > 1 do
    local middle = math.floor((has + lacks) / 2)
    if redis.call('ZSCORE', key, window.entry(kind, ticket, middle)) then
      has = middle
    else
      lacks = middle
    end
  end
  return has
end

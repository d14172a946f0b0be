-- limit/show: what a key has used, by the rule of the last check that wrote it.
-- KEYS[1] state
-- flags: allow-oom
-- returns {} when the key is not in use; {kind} when the rule was not stored; else {kind, count,
--   period in milliseconds, capacity, taken, how many more would fit, microseconds until the next
--   fits, microseconds until all is unused, when something was last counted (Unix time in
--   milliseconds; 0: not known), {when, how many, 1 if it was denied, ...}: what was taken when, the
--   newest first}
-- include: shared/clock
-- include: methods

local DIVISIONS_MAX = 110
local TAKES, ENTRIES = 100, 2000 -- in the answer, and entries that are looked at

now = clock.us()
local key = KEYS[1]

-- The kind and the rule of the state, and when it was last written; nil if there is none.
local function read_head()
  local found = redis.call('TYPE', key).ok
  if found == 'string' then
    local body, rule = stored.split(redis.call('GET', key))
    return string.match(body, '^%a+') or '', rule, string.match(body, '^%a+ %d+ (%d+) %d+')
  elseif found == 'zset' then
    local first = redis.call('ZRANGE', key, 0, 0)[1]
    return string.match(first, '^(%a+)[: ]') or '', window.rule_in(first)
  elseif found ~= 'none' then
    error({err = 'WRONGTYPE the key is not the state of a limit'})
  end
end

-- Two steps halve the numbers, so exact ones need no more than DIVISIONS_MAX.
local function common_divisor(a, b)
  for _ = 1, DIVISIONS_MAX do
    if b == 0 then
      break
    end
    a, b = b, math.fmod(a, b)
  end
  return a
end

-- The rule as limit/check makes it. See the essay of limit.c for unit and rate.
local function make_rule(kind, text)
  local count, period, capacity = string.match(text, '^(%d+) (%d+) (%d+)$')
  local rule = {key = key, kind = kind, only_looks = true, quantity = 1, ahead = 0,
                count = tonumber(count), period = tonumber(period), capacity = tonumber(capacity),
                only_reads = true}
  local unit = rule.period * US_PER_MS
  if rule.count < 1 or rule.period < 1 or rule.capacity < 1 or unit > EXACT or
     rule.count > EXACT or rule.capacity > EXACT then
    stored.refuse()
  end
  local divisor = (kind == 'gcra' or kind == 'bucket') and common_divisor(rule.count, unit) or 1
  rule.unit, rule.rate = unit / divisor, rule.count / divisor
  return rule
end

-- The newest checks, by the entries of a window: {when, how many, 1 if it was denied, ...}. The
-- entries of a ticket stand side by side; the last ones may be the rest of a ticket, and do not
-- count.
local function newest_takes(rule)
  local takes, before = {}, nil
  local entries = redis.call('ZRANGE', rule.key, 0, ENTRIES - 1, 'REV', 'WITHSCORES')
  for i = 1, #entries, 2 do
    local denied, ticket = string.match(entries[i], '^%a+:(%-?)(.*):%d+$')
    local ends = tonumber(entries[i + 1])
    if not ticket or ends <= now or ticket ~= before and #takes == 3 * TAKES then
      return takes
    elseif ticket ~= before then
      takes[#takes + 1] = math.max(0, math.floor((ends - rule.unit) / US_PER_MS))
      takes[#takes + 1] = 0
      takes[#takes + 1] = denied == '-' and 1 or 0
    end
    takes[#takes - 1], before = takes[#takes - 1] + 1, ticket
  end
  return #entries == 2 * ENTRIES and {unpack(takes, 1, #takes - 3)} or takes
end

local kind, text, written = read_head()
if not kind then
  return {}
elseif not METHODS[kind] then
  stored.refuse()
elseif not text then
  return {kind}
end
local rule = make_rule(kind, text)
local method = METHODS[kind]
local fits = method.look(rule)
local room, _, fits_in, unused_in = method.tell(rule)
local takes = methods.are_places(kind) and newest_takes(rule) or {}
local last = takes[1] or (kind ~= 'approx' and written or 0) / US_PER_MS
return {kind, rule.count, rule.period, rule.capacity, math.min(method.used(rule), EXACT),
        math.min(room, EXACT), fits and 0 or math.min(fits_in, EXACT), math.min(unused_in, EXACT),
        math.min(math.floor(last), EXACT), takes}

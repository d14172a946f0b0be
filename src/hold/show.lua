-- hold/show: who holds, and who waits.
-- KEYS[1] state    see hold/acquire
-- KEYS[2] sharers
-- KEYS[3] line
-- ARGV[1] most     holders, and waiters, to list
-- flags: no-writes
-- returns {limit or 0, 1 if the holders share, holders, waiters, now, how many holders follow, then
--   for each "fence since who" and the end of its lease, then "mode who" for each waiter}
-- include: line

local most = ARGV[1]

local state = hold.read()
if hold.lacks_keys(state) then
  return hold.moving()
end
local now = decimal.whole(state.now)

-- "fence since who"
local function shown(holder)
  return string.format('%d %d %s', holder.fence, holder.since, holder.who)
end

-- Each sharer, and the end of its lease.
local function show_sharers()
  local found, tokens, tills = {}, {}, {}
  local live = redis.call('ZRANGE', SHARERS, '(' .. now, '+inf', 'BYSCORE',
                          'LIMIT', '0', most, 'WITHSCORES')
  for i = 1, #live, 2 do
    tokens[#tokens + 1], tills[#tills + 1] = live[i], live[i + 1]
  end
  local stored = tokens[1] and redis.call('HMGET', STATE, unpack(tokens)) or {}
  for i, till in ipairs(tills) do
    local sharer = hold.read_sharer(stored[i], tokens[i], till)
    found[#found + 1] = sharer and shown(sharer) or ''
    found[#found + 1] = till
  end
  return found
end

-- "mode who" of each waiter.
local function show_waiters()
  local found = {}
  local first = hold.given(LINE) and redis.call('LRANGE', LINE, '0', most - 1) or {}
  for _, text in ipairs(first) do
    local waiter = line.read_place(text)
    if waiter then
      found[#found + 1] = waiter.mode .. ' ' .. waiter.who
    end
  end
  return found
end

local writer, shares, count, holders = state.writer, 0, 1, nil
if writer and writer.till > state.now then
  holders = {shown(writer), decimal.whole(writer.till)}
elseif not hold.given(SHARERS) then
  count, holders = 0, {}
else
  count, holders = redis.call('ZCOUNT', SHARERS, '(' .. now, '+inf'), show_sharers()
  shares = count > 0 and 1 or 0
end
local answer = {state.limit or 0, shares, count, state.waiters, now, #holders / 2}
for _, list in ipairs({holders, show_waiters()}) do
  for _, text in ipairs(list) do
    answer[#answer + 1] = text
  end
end
return answer

-- hold/show: who holds, and who waits.
-- KEYS[1] state    see hold/acquire
-- KEYS[2] sharers
-- KEYS[3] line
-- ARGV[1] most     holders, and waiters, to list
-- returns {limit or 0, 1 if the holders share, holders, waiters, now, how many holders follow, then for
-- each "fence since who" and the end of its lease, then "mode who" for each waiter}
local STATE, SHARERS, LINE = KEYS[1], KEYS[2], KEYS[3]
local most = ARGV[1]
-- include: hold

local state = read_state(read_fields())
local now = digits(state.now)

-- "fence since who" and the end of the lease of each holder.
local function cards_of_sharers()
  local found, tokens, tills = {}, {}, {}
  local live = redis.call('ZRANGE', SHARERS, '(' .. now, '+inf', 'BYSCORE',
                          'LIMIT', '0', most, 'WITHSCORES')
  for i = 1, #live, 2 do
    tokens[#tokens + 1], tills[#tills + 1] = live[i], live[i + 1]
  end
  local cards = tokens[1] and redis.call('HMGET', STATE, unpack(tokens)) or {}
  for i, till in ipairs(tills) do
    found[#found + 1] = cards[i] or ''
    found[#found + 1] = till
  end
  return found
end

-- "mode who" of each waiter.
local function waiters()
  local found = {}
  for _, text in ipairs(redis.call('LRANGE', LINE, '0', most - 1)) do
    local waiter = read_place(text)
    if waiter then
      found[#found + 1] = waiter.mode .. ' ' .. waiter.who
    end
  end
  return found
end

local writer, shares, holders, cards = state.writer, 0, 1, nil
if writer and writer.till > state.now then
  cards = {card_text(writer.fence, writer.since, writer.who), digits(writer.till)}
else
  holders, cards = redis.call('ZCOUNT', SHARERS, '(' .. now, '+inf'), cards_of_sharers()
  shares = holders > 0 and 1 or 0
end
local answer = {state.limit or 0, shares, holders, state.waiters, now, #cards / 2}
for _, list in ipairs({cards, waiters()}) do
  for _, text in ipairs(list) do
    answer[#answer + 1] = text
  end
end
return answer

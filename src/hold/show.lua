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
local answer = {state.limit or 0, 0, 0, state.waiters, now, 0}

local function add_holder(card, till)
  answer[#answer + 1] = card
  answer[#answer + 1] = till
  answer[6] = answer[6] + 1
end

local function add_sharers(tokens, tills)
  local cards = redis.call('HMGET', STATE, unpack(tokens))
  for i = 1, #tokens do
    add_holder(cards[i] or '', tills[i])
  end
end

local writer = state.writer
if writer and writer.till > state.now then
  answer[3] = 1
  add_holder(card_text(writer.fence, writer.since, writer.who),
             digits(writer.till))
else
  local live = redis.call('ZRANGE', SHARERS, '(' .. now, '+inf', 'BYSCORE',
                          'LIMIT', '0', most, 'WITHSCORES')
  answer[3] = redis.call('ZCOUNT', SHARERS, '(' .. now, '+inf')
  answer[2] = answer[3] > 0 and 1 or 0
  local tokens, tills = {}, {}
  for i = 1, #live, 2 do
    tokens[#tokens + 1], tills[#tills + 1] = live[i], live[i + 1]
  end
  if #tokens > 0 then
    add_sharers(tokens, tills)
  end
end
for _, text in ipairs(redis.call('LRANGE', LINE, '0', most - 1)) do
  local waiter_mode, who = string.match(text, '^%x+ ([xs]) %d+ %x+ (%S+) ')
  if who then
    answer[#answer + 1] = waiter_mode .. ' ' .. who
  end
end
return answer

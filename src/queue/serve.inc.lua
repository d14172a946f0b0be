-- Hands what is ready to those who wait, in order; see "Waiting" in queue.c. There are `waiting` of
-- them, and `room` for so many claims. `soonest` becomes the end of the first lease.

local AT_MOST = 100
for turn = 1, math.min(waiting, room, AT_MOST) do
  local id, score = unpack(redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES'))
  local first, place = unpack(id and redis.call('ZRANGE', KEYS[7], 0, 0, 'WITHSCORES') or {})
  if not first then
    break
  end
  local token, lease, channel = string.match(first, '^(%S+) (%S+) (.*)$')
  local till = string.format('%d', now + lease)
  local record, extra = 's', ''
  if not rules[6] or redis.call('HSTRLEN', KEYS[2], id) <= 65536 then
    record = redis.call('HGET', KEYS[2], id) or ''
  end
  if score % 2^42 ~= 2^41 then -- not as pushed: it may have failed before
    extra = redis.call('HGET', KEYS[6], id) or ''
  end
  -- What is large, or has more to it at its start, the waiter shall claim itself.
  local come = string.byte(record) == 115
  redis.call('ZREM', KEYS[7], first)
  if not come then
    redis.call('ZADD', KEYS[5], till, id .. token)
    redis.call('ZREM', KEYS[3], id)
  end
  -- Told last: on a server that refuses writes nobody must hear of what was not written down.
  local word = come and 'C' or 'J' .. id .. till .. ' ' .. #extra .. ' ' .. extra .. record
  local heard = redis.pcall('SPUBLISH', channel, token .. word)
  local refused = type(heard) == 'table' -- not permitted: somebody will look, sooner or later
  waiting = waiting - 1
  if refused then
    redis.call('ZADD', KEYS[7], place, first)
  elseif heard > 0 then
    soonest = math.min(soonest or now + lease, now + lease)
    if not come then
      room, taken = room - 1, taken + 1
    end
  end
  if (refused or heard == 0) and not come then
    redis.call('ZREM', KEYS[5], id .. token)
    redis.call('ZADD', KEYS[3], score, id)
  end
  if refused or come and heard > 0 then
    break
  elseif turn == AT_MOST then
    soonest = now -- there may be more
  end
end
if step and room < 1 then -- those who wait on are served when the rate allows
  local next_at = math.ceil(full_at + (taken + 1) * step - rules[4])
  soonest = next_at > now and math.min(soonest or next_at, next_at) or soonest
end

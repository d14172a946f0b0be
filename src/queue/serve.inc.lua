-- Hands what is ready to those who wait, in order; see "Waiting" in queue.c. `soonest` becomes the
-- moment at which the first of their leases ends.

local AT_MOST = 100
redis.call('ZCARD', KEYS[5]) -- must not fail later
for turn = 1, AT_MOST do
  local id, score = unpack(redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES'))
  local first, place = unpack(redis.call('ZRANGE', KEYS[7], 0, 0, 'WITHSCORES'))
  if not id or not first or room < 1 then
    break
  end
  local token, lease, channel = string.match(first, '^(%S+) (%S+) (.*)$')
  local extra, record = redis.call('HGET', KEYS[6], id) or '', 's'
  if not gate[6] or redis.call('HSTRLEN', KEYS[2], id) <= 65536 then
    record = redis.call('HGET', KEYS[2], id) or ''
  end
  -- What is large, or has more to it at its start, the waiter shall claim itself.
  local come = string.byte(record) == 115
  local word = 'J' .. id .. stamp .. ' ' .. #extra .. ' ' .. extra .. record
  redis.call('ZREM', KEYS[7], first)
  if not come then
    redis.call('ZREM', KEYS[3], id)
    redis.call('ZADD', KEYS[5], string.format('%.0f', now + lease), id .. token)
  end
  -- Told last: on a server that refuses writes nobody must hear of what was not written down.
  local heard = redis.pcall('SPUBLISH', channel, token .. (come and 'C' or word))
  if type(heard) == 'table' then -- not permitted: they will find it when they look
    redis.call('ZADD', KEYS[7], place, first)
  end
  if heard ~= 0 and type(heard) ~= 'table' then
    soonest = math.min(soonest or now + lease, now + lease)
    if not come then
      room, taken = room - 1, taken + 1
    end
  elseif not come then
    redis.call('ZREM', KEYS[5], id .. token)
    redis.call('ZADD', KEYS[3], score, id)
  end
  if type(heard) == 'table' or come and heard > 0 then
    break
  elseif turn == AT_MOST then
    soonest = now
  end
end
if step and room < 1 then -- those who wait on are served when the rate allows
  local next_at = math.ceil(full_at + (taken + 1) * step - gate[4])
  soonest = next_at > now and math.min(soonest or next_at, next_at) or soonest
end

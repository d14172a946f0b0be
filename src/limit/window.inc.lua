-- Exact window and concurrency: what is alive, by the end of its life. See the essay of limit.c.

-- Forgets what has ended; returns how many are alive.
local function alive(key, letter)
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  if not first[1] then
    return 0
  end
  if string.sub(first[1], 1, 1) ~= letter then
    error({err = OTHER})
  end
  if tonumber(first[2]) <= now then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%d', now))
  end
  return redis.call('ZCARD', key)
end

-- When the one at this place, counted from 1 or from the last as -1, ends; now if there is none.
local function end_of(key, place)
  local index = place > 0 and place - 1 or place
  return tonumber(redis.call('ZRANGE', key, index, index, 'WITHSCORES')[2]) or now
end

-- Writes down so many that live until `till`; returns how many of them are new.
local function admit(key, letter, ticket, quantity, till)
  local entries = {}
  till = string.format('%d', till)
  for i = 1, quantity do
    entries[2 * i - 1] = till
    entries[2 * i] = letter .. ticket .. ':' .. i
  end
  local added = redis.call('ZADD', key, 'NX', unpack(entries))
  redis.call('PEXPIRE', key, string.format('%d', math.ceil((end_of(key, -1) - now) / 1000)))
  return added
end

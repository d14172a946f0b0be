-- What the scripts share: the server's clock, who holds, who is next. docs/lock.md has the
-- essay; the short of it is in hold.c.

local time = redis.call('TIME')
local stamp = time[1] .. string.sub('000000' .. time[2], -6)
local now = tonumber(stamp)

local FIRST_LEASE = 800000
local LINGER_MS = 60000
local QUEUE_MS = 900000
local SLACK = 100000
local AT_MOST = 100

local function text(number)
  return string.format('%.0f', number)
end

-- Makes the record and the holders outlive a lease; never shorter than another holder needs.
local function outlive(lease, alone)
  local ms = text(math.ceil(lease / 1000) + LINGER_MS)
  for i = 1, 2 do
    if alone then
      redis.call('PEXPIRE', KEYS[i], ms)
    else
      redis.call('PEXPIRE', KEYS[i], ms, 'GT')
    end
  end
end

-- Writes a holder down and returns its fence: ahead of all before it, whatever the clock does.
local function take(token, mode, lease, who, alone)
  local last = redis.call('HGET', KEYS[1], 'fence')
  local fence = stamp
  if last and tonumber(last) >= now then
    fence = text(last + 1)
  end
  redis.call('ZADD', KEYS[2], text(now + lease), token)
  redis.call('HSET', KEYS[1], 'fence', fence, 'mode', mode, token, fence .. ' ' .. stamp .. ' ' .. who)
  outlive(lease, alone)
  return tonumber(fence)
end

-- Forgets the holders whose lease has ended.
local function sweep()
  local ended = redis.call('ZRANGE', KEYS[2], '-inf', stamp, 'BYSCORE', 'LIMIT', 0, AT_MOST)
  if #ended > 0 then
    redis.call('ZREM', KEYS[2], unpack(ended))
    redis.call('HDEL', KEYS[1], unpack(ended))
  end
end

-- Whether one more of that mode may hold; and whether it would be alone.
local function room(mode)
  local held = redis.call('ZCARD', KEYS[2])
  if held == 0 then
    return true, true
  end
  if mode == 'x' then
    return false
  end
  local rule = redis.call('HMGET', KEYS[1], 'mode', 'limit')
  return rule[1] == 's' and (not rule[2] or held < tonumber(rule[2])), false
end

-- A lease that ends earlier than those who wait expect: tells one of them, the last since it will wait
-- longest, unless one who waits has promised to look in time.
local function appoint(till)
  local promise = redis.call('HMGET', KEYS[1], 'looker', 'look')
  if promise[1] and tonumber(promise[2]) <= till + SLACK
      and redis.call('ZSCORE', KEYS[3], promise[1]) then
    return
  end
  for _ = 1, AT_MOST do
    local last = redis.call('ZRANGE', KEYS[3], -1, -1)[1]
    if not last then
      return
    end
    local token, channel = string.match(last, '^(%S+) %S+ %S+ %S+ (.*)$')
    if redis.call('SPUBLISH', channel, token .. ' look ' .. text(till - now)) > 0 then
      redis.call('HSET', KEYS[1], 'looker', last, 'look', text(till))
      return
    end
    redis.call('ZREM', KEYS[3], last)
  end
end

-- Gives what is free to those who wait, in order. One whom nobody hears is gone: the next.
local function hand_over()
  for _ = 1, AT_MOST do
    local first = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
    if not first then
      return
    end
    local token, mode, lease, who, channel = string.match(first, '^(%S+) (%S+) (%S+) (%S+) (.*)$')
    local fits, alone = room(mode)
    if not fits then
      return
    end
    redis.call('ZREM', KEYS[3], first)
    local short = math.min(tonumber(lease), FIRST_LEASE)
    local fence = take(token, mode, short, who, alone)
    local word = token .. ' grant ' .. text(fence) .. ' ' .. stamp .. ' ' .. text(short)
    if redis.call('SPUBLISH', channel, word) == 0 then
      redis.call('ZREM', KEYS[2], token)
      redis.call('HDEL', KEYS[1], token)
    else
      appoint(now + short)
    end
  end
end

-- Who is next.

local FIRST_LEASE = 800000

-- Gives what is free to those who wait, in order. One whom nobody hears is gone: the next. True
-- when nobody waits any more.
local function hand_over()
  for _ = 1, AT_MOST do
    if not room('s') then
      return false
    end
    local first, place = unpack(redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES'))
    if not first then
      return true
    end
    local token, mode = string.sub(first, 1, 32), string.sub(first, 34, 34)
    local lease, who, channel = string.match(first, '^(%S+) (%S+) (.*)$', 36)
    local fits = room(mode)
    -- A writer who waits keeps later readers out, although readers hold; but not when it is gone.
    if not fits and redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] ~= 0 then
      return false
    end
    redis.call('ZREM', KEYS[3], first)
    if fits then
      local short = math.min(tonumber(lease), FIRST_LEASE)
      fence = next_fence(fence)
      local word = token .. ' grant ' .. fence .. ' ' .. stamp .. ' ' .. text(short)
      local heard = tell(channel, word)
      if not heard then
        redis.call('ZADD', KEYS[3], place, first)
        return false
      end
      if heard > 0 then
        put(token, mode, short, fence .. ' ' .. stamp .. ' ' .. who)
        appoint(now + short, first)
      end
    end
  end
  appoint(now) -- there may be more
  return false
end

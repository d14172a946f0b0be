-- Who is next.

local function put_back(first)
  redis.call('LPUSH', KEYS[3], first)
  keep_line()
end

-- Gives what is free to those who wait, in order. One whom nobody hears is gone: the next. True
-- when nobody waits any more.
local function hand_over()
  for _ = 1, waits ~= '-' and AT_MOST or 0 do
    if not room('s') then
      return false
    end
    local first = redis.call('LPOP', KEYS[3])
    if not first then
      waits, look, looker = '-', NONE, '-'
      return true
    end
    local token, mode = string.sub(first, 1, 32), string.sub(first, 34, 34)
    local space = string.find(first, ' ', 53, true)
    local channel = string.sub(first, space + 1)
    local fits = room(mode)
    -- A writer who waits keeps later readers out, although readers hold; but not when it is gone.
    if not fits and redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] ~= 0 then
      put_back(first)
      return false
    end
    forget_looker(token)
    if fits then
      local lease = string.sub(first, 36, 51)
      lease = lease < FIRST_LEASE and lease or FIRST_LEASE
      local card = next_fence() .. ' ' .. stamp .. ' '
      local heard = tell(channel, token .. ' grant ' .. card .. lease)
      if not heard then
        put_back(first)
        return false
      end
      if heard > 0 then
        put(token, mode, tonumber(lease), card .. string.sub(first, 53, space - 1))
        appoint(now + lease, first)
      end
    end
  end
  if waits ~= '-' then
    appoint(now) -- there may be more
  end
  return waits == '-'
end

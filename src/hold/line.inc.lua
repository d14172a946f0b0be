-- Who is next.

local function put_back(first, place)
  redis.call('ZADD', KEYS[3], place, first)
  redis.call('PEXPIRE', KEYS[3], '900000')
end

-- Gives what is free to those who wait, in order. One whom nobody hears is gone: the next. True
-- when nobody waits any more.
local function hand_over()
  local FIRST_LEASE = 800000
  for _ = 1, arrivals ~= NONE and AT_MOST or 0 do
    if not room('s') then
      return false
    end
    local first, place = unpack(redis.call('ZPOPMIN', KEYS[3]))
    if not first then
      arrivals, look, looker = NONE, NONE, '-'
      return true
    end
    local token, mode = string.sub(first, 1, 32), string.sub(first, 34, 34)
    local space = string.find(first, ' ', 53, true)
    local channel = string.sub(first, space + 1)
    local fits = room(mode)
    -- A writer who waits keeps later readers out, although readers hold; but not when it is gone.
    if not fits and redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] ~= 0 then
      put_back(first, place)
      return false
    end
    looker = string.sub(looker, 1, 32) ~= token and looker or '-'
    if fits then
      local short = math.min(tonumber(string.sub(first, 36, 51)), FIRST_LEASE)
      local card = next_fence() .. ' ' .. stamp
      local heard = tell(channel, token .. ' grant ' .. card .. ' ' .. string.format('%d', short))
      if not heard then
        put_back(first, place)
        return false
      end
      if heard > 0 then
        put(token, mode, short, card .. ' ' .. string.sub(first, 53, space - 1))
        appoint(now + short, first)
      end
    end
  end
  if arrivals ~= NONE then
    appoint(now) -- there may be more
  end
  return arrivals == NONE
end

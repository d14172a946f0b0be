-- Writing the record.

local function sharers()
  if x then
    return string.sub(x, 51, 51) == 's' and 1 or 0
  end
  sharing = sharing or redis.call('ZCARD', KEYS[2])
  return sharing
end

-- The keys outlive the moment by so much, and somewhat more, lest they are told each time.
local function live(ms)
  if tonumber(alive) < now_ms + ms then
    alive, moved = string.format('%013d', now_ms + ms + LINGER), true
  end
end

-- Every script that changes something ends with it.
local function save()
  if waits == '-' and not x and sharers() == 0 then
    local free = fence .. ' ' .. limit
    if free ~= record and fence ~= NONE then
      redis.call('SET', KEYS[1], free, 'PX', LINGER)
    end
    return
  end
  if alive == '0' then
    live(0)
  end
  local full = fence .. '*' .. (x or '-') .. ' ' .. waits .. look .. alive .. kept
               .. looker .. ' ' .. limit
  if full ~= record then
    redis.call('SET', KEYS[1], full, 'PXAT', tonumber(alive))
  end
  if moved and not x and sharers() > 0 then
    redis.call('PEXPIREAT', KEYS[2], tonumber(alive))
    redis.call('PEXPIREAT', KEYS[4], tonumber(alive))
  end
end

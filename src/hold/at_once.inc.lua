-- The common cases, in as few steps as there can be: nobody waits, and nobody is in the way, not even
-- one whose lease has ended. A function defined here would cost as much as a command.

local last = redis.call('HMGET', KEYS[1], 'x', 'fence', 'limit')
local x, fence = last[1], last[2]

if not x then
  local ends, mine = string.format('%016d', stamp + ARGV[3]), stamp
  if fence and fence >= stamp then -- the clock was set back; sixteen digits compare as numbers do
    mine = string.format('%016d', fence + 1)
  end

  if mode == 'x' and redis.call('EXISTS', KEYS[2], KEYS[3]) == 0 then
    redis.call('HSET', KEYS[1], 'fence', mine, 'x', ends .. ' ' .. token .. ' ' .. mine .. ' '
               .. stamp .. ' ' .. ARGV[6])
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
    return {0, mine, ARGV[3], stamp}
  end

  if mode == 's' and (last[3] or '') == ARGV[5] and redis.call('ZCARD', KEYS[3]) == 0 then
    local held = redis.call('ZCARD', KEYS[2])
    if (not last[3] or held < tonumber(last[3]))
       and redis.call('ZADD', KEYS[2], 'NX', ends, token) == 1 then
      redis.call('PEXPIRE', KEYS[2], ARGV[4], held == 0 and 'NX' or 'GT')
      redis.call('HSET', KEYS[1], 'fence', mine, token, mine .. ' ' .. stamp .. ' ' .. ARGV[6])
      if held == 0 or not fence then
        redis.call('PEXPIRE', KEYS[1], ARGV[4])
      else
        redis.call('PEXPIRE', KEYS[1], ARGV[4], 'GT')
      end
      return {0, mine, ARGV[3], stamp}
    end
  end
end

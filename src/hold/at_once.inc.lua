-- The common cases, in as few steps as there can be: nobody waits, and nobody is in the way, not even
-- one whose lease has ended.

local last = redis.call('HMGET', KEYS[1], 'x', 'fence', 'limit')
local x, fence = last[1], last[2]

if mode == 'x' and not x and redis.call('EXISTS', KEYS[2], KEYS[3]) == 0 then
  fence = next_fence(fence)
  redis.call('HSET', KEYS[1], 'fence', fence, 'x', moment(now + lease) .. ' ' .. token .. ' '
             .. fence .. ' ' .. stamp .. ' ' .. ARGV[6])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return {0, fence, ARGV[3], stamp}
end

if mode == 's' and not x and (last[3] or '') == ARGV[5] and redis.call('ZCARD', KEYS[3]) == 0 then
  local held = redis.call('ZCARD', KEYS[2])
  if (not last[3] or held < tonumber(last[3]))
     and redis.call('ZADD', KEYS[2], 'NX', text(now + lease), token) == 1 then
    redis.call('PEXPIRE', KEYS[2], ARGV[4], held == 0 and 'NX' or 'GT')
    local anew = held == 0 or not fence
    fence = next_fence(fence)
    redis.call('HSET', KEYS[1], 'fence', fence, token, fence .. ' ' .. stamp .. ' ' .. ARGV[6])
    if anew then
      redis.call('PEXPIRE', KEYS[1], ARGV[4])
    else
      redis.call('PEXPIRE', KEYS[1], ARGV[4], 'GT')
    end
    return {0, fence, ARGV[3], stamp}
  end
end

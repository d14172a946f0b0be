-- Texts with their weights.
-- include: best

local REACH_MAX = 200 -- bytes; longer prefixes keep nothing

-- Calls visit(start, reach) for each line "reach start" of a list that is separated by NUL.
local function each_start(lines, visit)
  for reach, start in string.gmatch(lines, '(%d+) ([^%z]*)') do
    visit(start, tonumber(reach))
  end
end

-- The score of a text, nil when there is none.
local function score_of(key)
  local score = redis.call('ZSCORE', WEIGHTS, key)
  score = score and tonumber(score)
  if score and not (score > 0 and score < math.huge) then
    error({err = 'DAMAGED a weight was not written by tackle'})
  end
  return score or nil
end

-- Removes a text everywhere.
local function take_out(key, score)
  redis.call('ZREM', WEIGHTS, key)
  redis.call('ZREM', TEXTS, key .. '\0')
  redis.call('HDEL', SHOWN, key)
  local others = redis.call('HGET', STARTS, key)
  if others then
    redis.call('HDEL', STARTS, key)
    each_start(others, function(start)
      redis.call('ZREM', TEXTS, start .. '\0' .. key)
    end)
  end
  local left = {} -- starts may share prefixes
  local function leave(prefix)
    if not left[prefix] then
      left[prefix] = leave_best(prefix, key, score)
    end
    return left[prefix]
  end
  each_prefix(key, REACH_MAX, leave)
  each_start(others or '', function(start, reach)
    each_prefix(start, reach, leave)
  end)
end

-- After the last write: all keys expire together, or none does.
local function expire_in(ttl)
  for _, key in ipairs({META, WEIGHTS, TEXTS, BEST, SHOWN, STARTS}) do
    if ttl ~= '0' then
      redis.call('PEXPIRE', key, ttl)
    elseif redis.call('PERSIST', key) == 0 and key == META then
      return -- another handle's ttl would be on META, too
    end
  end
end

-- Before the first write: an error now when one of the keys is of another type.
local function check_types()
  redis.call('ZCARD', WEIGHTS)
  redis.call('ZCARD', TEXTS)
  redis.call('ZCARD', BEST)
  redis.call('HLEN', SHOWN)
  redis.call('HLEN', STARTS)
end

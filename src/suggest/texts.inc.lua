-- Texts with their weights.
-- include: keys
-- include: shared/expiry
-- include: refill

-- Calls visit(start, reach) for each line "reach start" of a list that is separated by NUL.
local function each_start(lines, visit)
  for reach, start in string.gmatch(lines, '(%d+) ([^%z]*)') do
    visit(start, tonumber(reach))
  end
end

-- The member of TEXTS for a start but the first.
local function start_member(start, reach, key)
  return start .. (reach > 0 and '\0' or UNLISTED) .. key
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

-- Removes a text everywhere. `best_max` 0: it is the lightest of all, and nobody takes its places.
local function take_out(key, score, best_max)
  redis.call('ZREM', WEIGHTS, key)
  redis.call('ZREM', TEXTS, key .. '\0')
  redis.call('HDEL', SHOWN, key)
  local others = redis.call('HGET', STARTS, key)
  if others then
    redis.call('HDEL', STARTS, key)
    each_start(others, function(start, reach)
      redis.call('ZREM', TEXTS, start_member(start, reach, key))
    end)
  end
  local known, gaps = {}, {} -- starts may share prefixes
  leave_best(key, #key, key, score, known, gaps)
  each_start(others or '', function(start, reach)
    leave_best(start, reach, key, score, known, gaps)
  end)
  if best_max > 0 then
    fill_gaps(gaps, best_max)
  end
end

-- After the last write.
local function expire_in(ttl)
  expire_together(META, {WEIGHTS, TEXTS, BEST, SHOWN, STARTS}, ttl)
end

-- Before the first write: an error now when one of the keys is of another type, or when settings or
-- weights were evicted.
local function check_keys(settings)
  local weights, texts = redis.call('ZCARD', WEIGHTS), redis.call('ZCARD', TEXTS)
  if not settings and weights > 0 or weights == 0 and texts > 0 then
    error({err = 'DAMAGED part of these suggestions is gone from the server'})
  end
  redis.call('ZCARD', BEST)
  redis.call('HLEN', SHOWN)
  redis.call('HLEN', STARTS)
end

-- Texts that were fed, with their weights.
-- include: keys
-- include: shared/expiry
-- include: shared/types
-- include: refill

local fed = {}

-- The number of characters of the longest prefix that keeps its best, as the settings say.
function fed.longest_of(settings)
  return tonumber(string.match(settings, 'longest=(%d+)'))
end

-- Calls visit(start, reach) for each row "reach start" of a list separated by NUL.
function fed.each_start(lines, visit)
  for reach, start in string.gmatch(lines, '(%d+) ([^%z]*)') do
    visit(start, tonumber(reach))
  end
end

-- The member of TEXTS for any start but the first.
function fed.start_member(start, reach, key)
  return start .. (reach > 0 and '\0' or UNLISTED) .. key
end

-- The score of a text; nil: no such text.
function fed.score_of(key)
  local score = redis.call('ZSCORE', WEIGHTS, key)
  score = score and tonumber(score)
  if score and not (score > 0 and score < math.huge) then
    error({err = 'DAMAGED a weight was not written by tackle'})
  end
  return score or nil
end

-- Removes a text everywhere. `best_max` 0: it is the lightest text of all, so no other text takes
-- its places.
function fed.remove(key, score, best_max, longest)
  redis.call('ZREM', WEIGHTS, key)
  redis.call('ZREM', TEXTS, key .. '\0')
  redis.call('HDEL', SHOWN, key)
  local others = redis.call('HGET', STARTS, key)
  if others then
    redis.call('HDEL', STARTS, key)
    fed.each_start(others, function(start, reach)
      redis.call('ZREM', TEXTS, fed.start_member(start, reach, key))
    end)
  end
  local known, gaps = {}, {} -- starts may share prefixes
  refill.leave(key, #key, key, score, longest, known, gaps)
  fed.each_start(others or '', function(start, reach)
    refill.leave(start, reach, key, score, longest, known, gaps)
  end)
  if best_max > 0 then
    refill.fill_gaps(gaps, best_max, longest)
  end
end

-- Lets all keys expire together, after the last write.
function fed.expire_in(ttl)
  expiry.together(META, {WEIGHTS, TEXTS, BEST, SHOWN, STARTS}, ttl)
end

-- Rejects keys of another type, and suggestions whose settings or weights were evicted.
function fed.check_keys(settings)
  local weights, texts = redis.call('ZCARD', WEIGHTS), redis.call('ZCARD', TEXTS)
  if not settings and weights > 0 or weights == 0 and texts > 0 then
    error({err = 'DAMAGED part of these suggestions is gone from the server'})
  end
  types.check_zsets(BEST)
  types.check_hashes(SHOWN, STARTS)
end

-- Reports of done jobs, many at once.
-- include: ends
-- include: keeping

local reports = {}

-- Ends claims that are neighbours in ACTIVE, in the same order: claims that were made together are.
-- False when they are not neighbours; then nothing has changed.
function reports.end_together(claims)
  local first = redis.call('ZRANK', ACTIVE, claims[1])
  local found = first and redis.call('ZRANGE', ACTIVE, first, first + #claims - 1) or {}
  for i = 1, #claims do
    if found[i] ~= claims[i] then
      return false
    end
  end
  redis.call('ZREMRANGEBYRANK', ACTIVE, first, first + #claims - 1)
  return true
end

-- Ends claims. Returns the indexes, from 1, of claims that are not valid any more.
function reports.end_claims(claims)
  if reports.end_together(claims) then
    return {}
  end
  local valid, stale = {}, {}
  for i, lease_end in ipairs(redis.call('ZMSCORE', ACTIVE, unpack(claims))) do
    if lease_end then
      valid[#valid + 1] = claims[i]
    else
      stale[#stale + 1] = i
    end
  end
  if valid[1] then
    redis.call('ZREM', ACTIVE, unpack(valid))
  end
  return stale
end

-- The ids of the claims that are not stale, in the same order, and how many of them are rich. The
-- rich ones are the first `rich` of the claims.
function reports.finished_ids(claims, stale, rich)
  local ids, count, rich_left, next_stale = {}, 0, rich, 1
  for i = 1, #claims do
    if stale[next_stale] == i then
      next_stale = next_stale + 1
      rich_left = i <= rich and rich_left - 1 or rich_left
    else
      count = count + 1
      ids[count] = jobs.claimed_id(claims[i])
    end
  end
  return ids, rich_left
end

-- The bytes of the records of jobs.
function reports.bytes_of(ids)
  local bytes = 0
  for _, id in ipairs(ids) do
    bytes = bytes + redis.call('HSTRLEN', JOBS, id)
  end
  return bytes
end

-- Removes the records of jobs, their heads, their histories, their progress and the times of their
-- claims.
function reports.remove_records(ids)
  redis.call('HDEL', JOBS, unpack(ids))
  if redis.call('EXISTS', HISTORY, PROGRESS, SINCE, HEADS) > 0 then
    redis.call('HDEL', HISTORY, unpack(ids))
    redis.call('HDEL', PROGRESS, unpack(ids))
    redis.call('HDEL', SINCE, unpack(ids))
    redis.call('HDEL', HEADS, unpack(ids))
  end
end

-- Ends done jobs. `bytes`: size of all their records. Returns the indexes of claims that are not
-- valid any more.
function reports.finish_done(claims, rich, bytes, meta, budget)
  keeping.add(meta, claims)
  local stale = reports.end_claims(claims)
  local ids, rich_ids = reports.finished_ids(claims, stale, rich)
  if stale[1] then
    bytes = reports.bytes_of(ids)
  end
  for i = 1, rich_ids do
    ends.remove(ids[i], jobs.record_of(ids[i]), true, budget)
  end
  if ids[1] then
    reports.remove_records(ids)
    totals.add(meta, {done = #ids, bytes = -bytes})
    events.publish(meta, 'done', ids)
  end
  return stale
end

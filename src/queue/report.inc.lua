-- Reports of jobs that were done, many at once.
-- include: ends

-- Claims that were made together stand together in ACTIVE, in the same order: then they are valid,
-- and can be taken out as one.
local function end_together(claims)
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

-- Ends claims. Returns the places, from 1, of those that are not valid any more.
local function end_claims(claims)
  if end_together(claims) then
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

-- The ids of the claims that are not stale, in the same order, and how many of them are rich: of the
-- claims those are the first.
local function finished_ids(claims, stale, rich)
  local ids, count, rich_left, next_stale = {}, 0, rich, 1
  for i = 1, #claims do
    if stale[next_stale] == i then
      next_stale = next_stale + 1
      rich_left = i <= rich and rich_left - 1 or rich_left
    else
      count = count + 1
      ids[count] = claimed_id(claims[i])
    end
  end
  return ids, rich_left
end

local function bytes_of(ids)
  local bytes = 0
  for _, id in ipairs(ids) do
    bytes = bytes + redis.call('HSTRLEN', JOBS, id)
  end
  return bytes
end

-- Removes the records of jobs, and what is kept beside them.
local function remove_records(ids)
  redis.call('HDEL', JOBS, unpack(ids))
  if redis.call('EXISTS', HISTORY, PROGRESS) > 0 then
    redis.call('HDEL', HISTORY, unpack(ids))
    redis.call('HDEL', PROGRESS, unpack(ids))
  end
end

-- Ends the jobs that were done. `bytes`: of the records of all of them. Returns the places of those
-- whose claim is not valid any more.
local function report_done(claims, rich, bytes, meta, budget)
  local stale = end_claims(claims)
  local ids, rich_ids = finished_ids(claims, stale, rich)
  if stale[1] then
    bytes = bytes_of(ids)
  end
  for i = 1, rich_ids do
    remove(ids[i], record_of(ids[i]), true, budget)
  end
  if ids[1] then
    remove_records(ids)
    add_totals(meta, {done = #ids, bytes = -bytes})
  end
  return stale
end

-- Reports of jobs that were done, many at once.
-- include: ends

-- Claims that were made together stand together in ACTIVE, in the same order: then they are valid,
-- and can be taken out as one.
local function end_together(claims)
  local first = redis.call('ZRANK', ACTIVE, claims[1])
  local found = first and redis.call('ZRANGE', ACTIVE, first, first + #claims - 1) or {}
  for i, claim in ipairs(claims) do
    if found[i] ~= claim then
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

-- The ids of those that are not stale; `rich` of the claims, the first ones, have more to their end
-- than their record, and are told apart.
local function finished_ids(claims, stale, rich)
  local plain_ids, rich_ids, plain_count, next_stale = {}, {}, 0, 1
  for i = 1, #claims do
    if stale[next_stale] == i then
      next_stale = next_stale + 1
    elseif i <= rich then
      rich_ids[#rich_ids + 1] = claimed_id(claims[i])
    else
      plain_count = plain_count + 1
      plain_ids[plain_count] = claimed_id(claims[i])
    end
  end
  return plain_ids, rich_ids
end

local function bytes_of(ids)
  local bytes = 0
  for _, id in ipairs(ids) do
    bytes = bytes + redis.call('HSTRLEN', JOBS, id)
  end
  return bytes
end

-- Removes jobs that have nothing but their record.
local function remove_plain(ids)
  if ids[1] then
    redis.call('HDEL', JOBS, unpack(ids))
    if redis.call('EXISTS', HISTORY, PROGRESS) > 0 then
      redis.call('HDEL', HISTORY, unpack(ids))
      redis.call('HDEL', PROGRESS, unpack(ids))
    end
  end
end

-- Ends the jobs that were done. `bytes`: of the records of all of them. Returns the places of those
-- whose claim is not valid any more.
local function report_done(claims, rich, bytes, meta)
  local stale = end_claims(claims)
  local plain_ids, rich_ids = finished_ids(claims, stale, rich)
  if stale[1] then
    bytes = bytes_of(plain_ids) + bytes_of(rich_ids)
  end
  for _, id in ipairs(rich_ids) do
    remove(id, redis.call('HGET', JOBS, id) or '\n', true)
  end
  remove_plain(plain_ids)
  add_totals(meta, {done = #plain_ids + #rich_ids, bytes = -bytes})
  return stale
end

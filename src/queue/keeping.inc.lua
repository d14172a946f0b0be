-- Kept jobs: what is left of jobs that are done, for operators, in a queue that keeps them
-- (keep_ms). DONE has their ids by the time when they were done. DONE_JOBS has a row of each, and the
-- bytes of all rows as 'bytes'. Nothing else reads these keys: for all that works, a kept job is gone.
-- Both keys expire with the last kept job. A key of another type stops nobody's work.
-- include: workers
-- include: shared/decimal

local keeping = {}

local KEPT_AT_ONCE = 2097152 -- bytes of records that one script keeps; rows beyond have no record
local RESULT_KEPT = 1000      -- bytes of a result
local SURPLUS = 100           -- jobs that are removed beside as many as come, at most

-- ---- Rows ----

-- A row: "size since lengths\n" and then history, worker, result and record, one behind the other.
-- `size`: bytes of the whole record, of which the row may have only the beginning. `since`, `worker`:
-- see workers.claimant().
function keeping.row(job)
  return string.format('%.0f %.0f %d %d %d\n', job.size, job.since, #job.history, #job.worker,
                       #job.result) .. job.history .. job.worker .. job.result .. job.record
end

-- What a row says; nil for any other text.
function keeping.read(row)
  local size, since, history, worker, result, at =
      string.match(row or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)\n()')
  if not at then
    return nil
  end
  worker, result = history + worker, history + worker + result -- where each ends
  return {size = tonumber(size), since = tonumber(since),
          history = string.sub(row, at, at + history - 1),
          worker = string.sub(row, at + history, at + worker - 1),
          result = string.sub(row, at + worker, at + result - 1),
          record = string.sub(row, at + result)}
end

-- Done jobs are kept since this time; operators see no older ones, which may not be removed yet.
function keeping.first_moment(keep_ms)
  return keep_ms and now - keep_ms or math.huge
end

-- ---- Bytes ----

-- The bytes of all rows; 0 when another program has written something else.
function keeping.bytes()
  return decimal.read_from(redis.call('HGET', DONE_JOBS, 'bytes'), 0) or 0
end

function keeping.set_bytes(bytes)
  redis.call('HSET', DONE_JOBS, 'bytes', decimal.whole(math.max(bytes, 0)))
end

-- ---- Removing ----

-- Removes kept jobs, with rows of so many bytes.
function keeping.remove(ids, bytes)
  if ids[1] then
    redis.call('ZREM', DONE, unpack(ids))
    redis.call('HDEL', DONE_JOBS, unpack(ids))
    keeping.set_bytes(keeping.bytes() - bytes)
  end
  if redis.call('EXISTS', DONE) == 0 then
    redis.call('UNLINK', DONE_JOBS)
  end
end

-- Makes room for `count` jobs with rows of `bytes`: removes kept jobs that are too old, too many or
-- too large, among the `most` oldest. Returns how many, and for how many bytes there is room now.
function keeping.make_room(meta, count, bytes, most)
  local over = redis.call('ZCARD', DONE) + count - (meta.keep_max or TKL__QUEUE_KEEP_MAX)
  local room = (meta.keep_bytes or TKL__QUEUE_KEEP_BYTES) - keeping.bytes()
  local first, ids, freed = keeping.first_moment(meta.keep_ms), {}, 0
  local oldest = redis.call('ZRANGE', DONE, 0, most - 1, 'WITHSCORES')
  for i = 1, #oldest, 2 do
    if #ids >= over and room + freed >= bytes and tonumber(oldest[i + 1]) > first then
      break
    end
    ids[#ids + 1] = oldest[i]
    freed = freed + redis.call('HSTRLEN', DONE_JOBS, oldest[i])
  end
  keeping.remove(ids, freed)
  return #ids, room + freed
end

-- Lets the keys expire when the last kept job is too old.
function keeping.let_expire(meta)
  if meta.keep_ms then
    redis.call('PEXPIRE', DONE, decimal.whole(meta.keep_ms))
    redis.call('PEXPIRE', DONE_JOBS, decimal.whole(meta.keep_ms))
  end
end

-- Whether the keys have their types.
function keeping.keys_fit()
  return type(redis.pcall('ZCARD', DONE)) == 'number' and
         type(redis.pcall('HLEN', DONE_JOBS)) == 'number'
end

-- ---- Keeping ----

-- The claims that are still valid, in three lists: claims, ids, and when their leases end.
function keeping.valid(claims)
  local valid, ids, ends_of = {}, {}, {}
  for i, lease_end in ipairs(redis.call('ZMSCORE', ACTIVE, unpack(claims))) do
    if lease_end then
      valid[#valid + 1] = claims[i]
      ids[#ids + 1] = jobs.claimed_id(claims[i])
      ends_of[#ends_of + 1] = tonumber(lease_end)
    end
  end
  return valid, ids, ends_of
end

-- The rows of jobs that are done. Of large records, and when there are very many bytes, a row has
-- less.
function keeping.rows(claims, ids, lease_ends, result)
  local histories, noted = redis.call('HMGET', HISTORY, unpack(ids)),
                           redis.call('HMGET', SINCE, unpack(ids))
  local rows, known, left = {}, {}, KEPT_AT_ONCE
  for i, id in ipairs(ids) do
    local size = redis.call('HSTRLEN', JOBS, id)
    local record = NO_OPTIONS
    if math.min(size, LARGE) <= left then
      record = size > LARGE and jobs.beginning(id, HEAD) or jobs.record_of(id)
      left = left - #record
    end
    local worker = workers.of_token(jobs.claim_token(claims[i]))
    known[worker] = known[worker] or workers.read(redis.pcall('HGET', WORKERS, worker)) or {}
    local since = workers.claimed_at(claims[i], lease_ends[i], noted[i], known[worker].lease)
    rows[i] = keeping.row({size = size, since = since or 0, history = histories[i] or '',
                           worker = worker .. ' ' .. (known[worker].text or ''),
                           result = string.sub(result or '', 1, RESULT_KEPT), record = record})
  end
  return rows
end

-- Keeps the jobs of claims that are about to end as done, if this queue keeps jobs. `result`: what
-- the worker reported.
function keeping.add(meta, claims, result)
  if not meta.keep_ms or not keeping.keys_fit() then
    return
  end
  local valid, ids, lease_ends = keeping.valid(claims)
  if not ids[1] then
    return
  end
  local rows, bytes = keeping.rows(valid, ids, lease_ends, result), 0
  for _, row in ipairs(rows) do
    bytes = bytes + #row
  end
  local _, room = keeping.make_room(meta, #ids, bytes, #ids + SURPLUS)
  local fields, moments, added = {}, {}, 0
  local first = math.max(1, #ids - (meta.keep_max or TKL__QUEUE_KEEP_MAX) + 1)
  for i = first, #ids do
    if added + #rows[i] <= room then
      added = added + #rows[i]
      fields[#fields + 1], fields[#fields + 2] = ids[i], rows[i]
      moments[#moments + 1], moments[#moments + 2] = decimal.whole(now), ids[i]
    end
  end
  if fields[1] then
    redis.call('HSET', DONE_JOBS, unpack(fields))
    redis.call('ZADD', DONE, unpack(moments))
    keeping.set_bytes(keeping.bytes() + added)
    keeping.let_expire(meta)
  end
end

-- Kept jobs: a queue with keep_ms keeps a row of each done job, for operators. DONE has the ids by
-- the time when the jobs were done. DONE_JOBS has the rows, and the bytes of all rows as 'bytes'.
-- Nothing else reads these keys: for producers and workers a kept job is gone. Both keys expire
-- with the last kept job. If one of them has another type, work goes on without it.
-- include: workers
-- include: shared/decimal

local keeping = {}

local KEPT_AT_ONCE = 524288   -- bytes of records after which one script reads no more
local RESULT_KEPT = 1000      -- bytes of a result
local SURPLUS = 100           -- most kept jobs that are removed in addition to one for each new one

-- ---- Rows ----

-- A row: "size since lengths\n" and then history, worker, result and record, one behind the other.
-- `size`: bytes of the whole record, of which the row may have only the beginning. `since`,
-- `worker`: see workers.claimant().
function keeping.row(size, since, history, worker, result, record)
  return string.format('%d %d %d %d %d\n', size, since, #history, #worker, #result) .. history ..
         worker .. result .. record
end

-- Reads a row; nil for any other text.
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

-- Jobs that were done until this time are not kept, although they may not be removed yet. As text,
-- a bound for scores.
function keeping.forgotten_until(keep_ms)
  return keep_ms and decimal.whole(now - keep_ms) or '+inf'
end

-- ---- Bytes ----

-- The bytes of all rows; 0 when another program has written something else.
function keeping.bytes()
  return decimal.read_from(redis.call('HGET', DONE_JOBS, 'bytes'), 0) or 0
end

function keeping.bytes_max(meta)
  return meta.keep_bytes or TKL__QUEUE_KEEP_BYTES
end

-- ---- Removing ----

-- Removes the rows of jobs that were taken out of DONE. `bytes`: the size of these rows.
function keeping.remove_rows(ids, bytes)
  redis.call('HDEL', DONE_JOBS, unpack(ids))
  if redis.call('EXISTS', DONE) == 1 then
    redis.call('HSET', DONE_JOBS, 'bytes', decimal.whole(math.max(keeping.bytes() - bytes, 0)))
  else
    redis.call('UNLINK', DONE_JOBS)
  end
end

-- Makes room for `count` jobs with rows of `bytes`: removes kept jobs that are too old, too many or
-- too large, among the `most` oldest. Returns how many, and the bytes of all other rows.
function keeping.make_room(meta, count, bytes, most)
  local over = redis.call('ZCARD', DONE) + count - (meta.keep_max or TKL__QUEUE_KEEP_MAX)
  local old = redis.call('ZCOUNT', DONE, '-inf', keeping.forgotten_until(meta.keep_ms))
  local stored, room = keeping.bytes(), keeping.bytes_max(meta) - bytes
  local surplus, ids, freed = math.min(math.max(over, old), most), {}, 0
  local looked_at = stored > room and most or surplus
  for i, id in ipairs(looked_at > 0 and redis.call('ZRANGE', DONE, 0, looked_at - 1) or {}) do
    if i > surplus and stored - freed <= room then
      break
    end
    ids[i], freed = id, freed + redis.call('HSTRLEN', DONE_JOBS, id)
  end
  if ids[1] then
    redis.call('ZREMRANGEBYRANK', DONE, 0, #ids - 1)
    keeping.remove_rows(ids, freed)
  end
  return #ids, math.max(stored - freed, 0)
end

-- Lets the keys expire when the last kept job is too old.
function keeping.let_expire(meta)
  if meta.keep_ms then
    redis.call('PEXPIRE', DONE, decimal.whole(meta.keep_ms))
    redis.call('PEXPIRE', DONE_JOBS, decimal.whole(meta.keep_ms))
  end
end

-- Whether the keys have their types. Rows without the other key, which was evicted, are removed.
function keeping.keys_fit()
  local count, rows = redis.pcall('ZCARD', DONE), redis.pcall('HLEN', DONE_JOBS)
  if type(count) ~= 'number' or type(rows) ~= 'number' then
    return false
  elseif count == 0 and rows > 0 then
    redis.call('UNLINK', DONE_JOBS)
  end
  return true
end

-- ---- Keeping ----

-- The claims that are still valid, in three lists: claims, ids, and when their leases end.
function keeping.valid(claims)
  local valid, ids, lease_ends = {}, {}, {}
  for i, lease_end in ipairs(redis.call('ZMSCORE', ACTIVE, unpack(claims))) do
    if lease_end then
      local k = #valid + 1
      valid[k], ids[k], lease_ends[k] = claims[i], jobs.claimed_id(claims[i]), tonumber(lease_end)
    end
  end
  return valid, ids, lease_ends
end

-- The records of jobs as they are kept, and the sizes of the whole records. Of a large record only
-- the head is kept. Records behind the first KEPT_AT_ONCE bytes are left out.
function keeping.records(ids, may_be_large)
  local records, sizes, left = {}, {}, KEPT_AT_ONCE
  local step = may_be_large and 1 or READ_AT_ONCE
  for first = 1, #ids, step do
    local last, found = math.min(first + step - 1, #ids), {}
    local size = may_be_large and redis.call('HSTRLEN', JOBS, ids[first]) or 0
    if left > 0 and size > LARGE then
      found[1] = jobs.beginning(ids[first], HEAD)
    elseif left > 0 then
      found = redis.call('HMGET', JOBS, unpack(ids, first, last))
    end
    for i = first, last do
      local record = found[i - first + 1]
      records[i] = record or NO_OPTIONS
      sizes[i] = size > LARGE and size or record and #record or redis.call('HSTRLEN', JOBS, ids[i])
      left = left - #records[i]
    end
  end
  return records, sizes
end

-- The worker of a claim: `words` for a row, and its lease, if it is known.
function keeping.worker_of(token)
  local id = workers.of_token(token)
  local row = redis.pcall('HGET', WORKERS, id)
  local worker = type(row) == 'string' and workers.read(row)
  return {words = id .. ' ' .. (worker and worker.text or ''), lease = worker and worker.lease}
end

-- The fields of jobs in a hash that has none most of the time.
function keeping.read_fields(key, ids)
  return redis.call('EXISTS', key) == 1 and redis.call('HMGET', key, unpack(ids)) or {}
end

-- The rows of jobs that are done. `result`: that of the worker; nil for none.
function keeping.rows(claims, ids, lease_ends, result, are_large)
  local histories, noted = keeping.read_fields(HISTORY, ids), keeping.read_fields(SINCE, ids)
  local records, sizes = keeping.records(ids, are_large)
  local rows, known = {}, {}
  result = string.sub(result or '', 1, RESULT_KEPT)
  for i, claim in ipairs(claims) do
    local token = jobs.claim_token(claim)
    known[token] = known[token] or keeping.worker_of(token)
    local worker = known[token]
    local since = workers.claimed_at(claim, lease_ends[i], noted[i], worker.lease)
    rows[i] = keeping.row(sizes[i], math.max(0, math.min(since or 0, EXACT)), histories[i] or '',
                          worker.words, result, records[i])
  end
  return rows
end

-- Keeps the jobs of claims that are about to end as done, if this queue keeps jobs. `result`: that
-- of the worker.
function keeping.add(meta, claims, result)
  if not meta.keep_ms or not keeping.keys_fit() then
    return
  end
  local valid, ids, lease_ends = keeping.valid(claims)
  if not ids[1] then
    return
  end
  local rows, bytes = keeping.rows(valid, ids, lease_ends, result, meta.large), 0
  for _, row in ipairs(rows) do
    bytes = bytes + #row
  end
  local _, stored = keeping.make_room(meta, #ids, bytes, #ids + SURPLUS)
  local fields, moments, moment = {}, {}, decimal.whole(now)
  local first = math.max(1, #ids - (meta.keep_max or TKL__QUEUE_KEEP_MAX) + 1)
  for i = first, #ids do
    if stored + #rows[i] <= keeping.bytes_max(meta) then
      local k = #fields
      stored = stored + #rows[i]
      fields[k + 1], fields[k + 2] = ids[i], rows[i]
      moments[k + 1], moments[k + 2] = moment, ids[i]
    end
  end
  if fields[1] then
    redis.call('HSET', DONE_JOBS, 'bytes', decimal.whole(stored), unpack(fields))
    redis.call('ZADD', DONE, unpack(moments))
    keeping.let_expire(meta)
  end
end

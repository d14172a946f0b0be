-- Pushing: requests that may be repeated, and room for new jobs.
-- include: events
-- include: unique

local pushing = {}

local PARENTS_MAX = 1000 -- jobs that may wait for the same one
local REQUEST_MS = 600000 -- an answer is remembered for at least this long

-- ---- Requests ----

-- Requests are remembered in two hashes that alternate, each for a window of time.
function pushing.request_keys()
  local window = math.floor(now / REQUEST_MS)
  if window % 2 == 0 then
    return REQUESTS_EVEN, REQUESTS_ODD, window
  end
  return REQUESTS_ODD, REQUESTS_EVEN, window
end

-- The answer to a request that was seen before, nil for a new one. A lane has one request at a
-- time: a request with a lower number than the last is so late that no caller waits for its answer.
function pushing.answer_before(lane, number)
  local current, previous = pushing.request_keys()
  local seen = redis.call('HGET', current, lane) or redis.call('HGET', previous, lane)
  local last, answer = string.match(seen or '', '^(%d+) (.*)$')
  if last == number then
    return answer
  end
  return last and tonumber(last) > tonumber(number) and '' or nil
end

-- Stores the answer, in case the request is repeated.
function pushing.remember_answer(lane, number, answer)
  local current, _, window = pushing.request_keys()
  if redis.call('HSET', current, lane, number .. ' ' .. answer) == 1 then
    redis.call('PEXPIREAT', current, decimal.whole((window + 2) * REQUEST_MS))
  end
end

-- ---- New jobs ----

-- Opens the stock, which counts the jobs and bytes in the queue while new jobs are added. The ids
-- of these begin at `first`.
function pushing.open_stock(meta)
  local first = math.max((meta.last or 0) + 1, jobs.first_number_at(now))
  local stock = {first = first, number = first, bytes = meta.bytes or 0, count = 0, large = false}
  if meta.max_jobs then
    stock.count = redis.call('HLEN', JOBS) - redis.call('ZCARD', DEAD)
  end
  return stock
end

-- Whether there is room for one more record.
function pushing.has_room(stock, meta, record)
  return (not meta.max_jobs or stock.count + stock.number - stock.first < meta.max_jobs) and
         (not meta.max_bytes or stock.bytes + #record <= meta.max_bytes)
end

-- Adds a record to the stock. Returns the id of the job.
function pushing.add_to_stock(stock, record)
  local id = jobs.id_of_number(stock.number)
  stock.number, stock.bytes = stock.number + 1, stock.bytes + #record
  if #record > LARGE then
    stock.large = true
  end
  return id
end

-- Stores new records: {id, record, ...}.
function pushing.store(stock, records)
  redis.call('HSET', JOBS, unpack(records))
  for i = 1, stock.large and #records or 0, 2 do
    jobs.keep_head(records[i], records[i + 1])
  end
end

-- Stores the totals of the stock.
function pushing.close_stock(stock, meta)
  local added = stock.number - stock.first
  if added > 0 then
    meta.last, meta.bytes = stock.number - 1, stock.bytes
    redis.call('HSET', META, 'last', decimal.whole(meta.last), 'bytes', decimal.whole(meta.bytes),
               'pushed', decimal.whole((meta.pushed or 0) + added))
  end
  if stock.large and not meta.large then
    meta.large = 1
    redis.call('HSET', META, 'large', 1)
  end
end

-- Pushes one ready job, unless another job has its unique key. Returns TKL_OK and its id,
-- TKL_EXISTS and the id of the job that has the key, or TKL_FULL.
function pushing.push_one(record, meta)
  local job, stock = jobs.read(record), pushing.open_stock(meta)
  local holder = job.unique > 0 and unique.holder_of(job.unique_key)
  if holder then
    return TKL_EXISTS, holder
  elseif not pushing.has_room(stock, meta, record) then
    return TKL_FULL, ''
  end
  local id = pushing.add_to_stock(stock, record)
  pushing.store(stock, {id, record})
  redis.call('ZADD', READY, jobs.score(job.priority, PUSHED), id)
  unique.hold(job, id)
  pushing.close_stock(stock, meta)
  events.publish(meta, 'pushed', {id})
  unique.let_expire()
  unique.prune()
  return TKL_OK, id
end

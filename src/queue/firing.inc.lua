-- Firing: the job of a schedule is pushed.
-- include: pushing
-- include: events

local firing = {}

-- Pushes the job of a schedule, unless another job has its unique key. Returns TKL_OK and its id,
-- TKL_EXISTS and the id of the job that has the key, or TKL_FULL.
function firing.push(record, meta)
  local job, stock = jobs.read(record), pushing.open_stock(meta)
  local holder = job.unique > 0 and unique.holder_of(job.unique_key)
  if holder then
    return TKL_EXISTS, holder
  elseif not pushing.has_room(stock, meta, record) then
    return TKL_FULL, ''
  end
  local id = pushing.add_to_stock(stock, record)
  pushing.store(stock, {id, record})
  redis.call('ZADD', READY, jobs.place(job.priority, PUSHED), id)
  unique.hold(job, id)
  pushing.close_stock(stock, meta)
  events.tell(meta, 'pushed', {id})
  unique.let_expire()
  unique.prune()
  return TKL_OK, id
end

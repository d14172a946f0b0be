-- The sets that jobs are in, by name, and jobs as operators see them.
-- include: keeping

local sets = {}

-- The key of a set: ready, delayed, active, parked, flow, dead or done.
function sets.key(set)
  return ({ready = READY, delayed = DELAYED, active = ACTIVE, parked = PARKED, flow = FLOW,
           dead = DEAD, done = DONE})[set]
end

-- The order in which a set is shown: the next job to be served first; jobs that are over, newest
-- first.
function sets.order(set)
  return (set == 'dead' or set == 'done') and 'REV' or nil
end

-- Members with this score or less are not shown any more.
function sets.floor(set)
  if set ~= 'done' then
    return -math.huge
  end
  return tonumber(keeping.forgotten_until(totals.numbers(META, 'keep_ms').keep_ms)) or math.huge
end

-- The id of a job by its member in a set. Schedules and timers have no record by this id.
function sets.id_of(set, member)
  if set == 'parked' then
    return (jobs.read_spot(member))
  end
  return set == 'active' and jobs.claimed_id(member) or member
end

-- The record of a job, how many bytes were read for it, and for a done job the table of
-- keeping.read(). `cut`: bytes of its payload, 0 for all of it.
function sets.read(set, id, cut)
  if set == 'done' then
    local kept = keeping.read(redis.call('HGET', DONE_JOBS, id))
    local record = kept and (cut > 0 and jobs.cut(kept.record, cut) or kept.record)
    return record, #(kept and kept.record or ''), kept
  elseif cut > 0 then
    return jobs.beginning(id, cut)
  end
  local record = redis.call('HGET', JOBS, id)
  return record, #(record or '')
end

-- Adds a job to an answer: id, score, record, history and progress, since when it is claimed and by
-- whom (see workers.claimant()), the size of the whole record, and the result. `claim`: its member
-- in ACTIVE; nil elsewhere. `kept`: the third result of sets.read().
function sets.append(answer, id, score, record, claim, kept)
  local since, worker, history, progress, size
  if kept then
    since, worker, history, progress, size = kept.since, kept.worker, kept.history, '', kept.size
  else
    since, worker = workers.claimant(claim, score)
    history = redis.call('HGET', HISTORY, id) or ''
    progress, size = redis.call('HGET', PROGRESS, id) or '', redis.call('HSTRLEN', JOBS, id)
  end
  for _, part in ipairs({id, score, record, history, progress, since, worker, size,
                         kept and kept.result or ''}) do
    answer[#answer + 1] = part
  end
end

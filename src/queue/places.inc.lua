-- The places where jobs are, by name, and jobs as operators see them.
-- include: keeping

local places = {}

-- The sorted set of a place: ready, delayed, active, parked, flow, dead or done.
function places.key(place)
  return ({ready = READY, delayed = DELAYED, active = ACTIVE, parked = PARKED, flow = FLOW,
           dead = DEAD, done = DONE})[place]
end

-- The order in which a place is shown: the next to be served first; jobs that are over, newest
-- first.
function places.order(place)
  return (place == 'dead' or place == 'done') and 'REV' or nil
end

-- Members with this score or less are not shown any more.
function places.floor(place)
  if place ~= 'done' then
    return -math.huge
  end
  return tonumber(keeping.forgotten_until(totals.numbers(META, 'keep_ms').keep_ms)) or math.huge
end

-- The id of a job by its member in a place. Schedules and timers have no record by this id.
function places.id_of(place, member)
  if place == 'parked' then
    return (jobs.read_spot(member))
  end
  return place == 'active' and jobs.claimed_id(member) or member
end

-- The record of a job, how many bytes were read for it, and for a done job the table of
-- keeping.read(). `cut`: bytes of its payload, 0 for all of it.
function places.read(place, id, cut)
  if place == 'done' then
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
-- in ACTIVE; nil elsewhere. `kept`: the third result of places.read().
function places.append(answer, id, score, record, claim, kept)
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

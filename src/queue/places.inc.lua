-- The places where jobs are, by name, and jobs as operators see them.
-- include: workers

local places = {}

-- The sorted set of a place: ready, delayed, active, parked, flow or dead.
function places.key(place)
  return ({ready = READY, delayed = DELAYED, active = ACTIVE, parked = PARKED, flow = FLOW,
           dead = DEAD})[place]
end

-- The order in which a place is shown: the next to be served first, dead letters newest first.
function places.order(place)
  return place == 'dead' and 'REV' or nil
end

-- The id of a job by its member in a place. Schedules and timers have no record by this id.
function places.id_of(place, member)
  if place == 'parked' then
    return (jobs.read_spot(member))
  end
  return place == 'active' and jobs.claimed_id(member) or member
end

-- The record of a job, and how many bytes were read for it. `cut`: bytes of its payload, 0 for all of
-- it.
function places.read(id, cut)
  if cut > 0 then
    return jobs.beginning(id, cut)
  end
  local record = redis.call('HGET', JOBS, id)
  return record, #(record or '')
end

-- Adds a job to an answer: id, score, record, history and progress, since when it is claimed and by
-- whom (see workers.claimant()), and the size of the whole record. `claim`: its member in ACTIVE; nil
-- elsewhere.
function places.append(answer, id, score, record, claim)
  local since, worker = workers.claimant(claim, score)
  for _, part in ipairs({id, score, record, redis.call('HGET', HISTORY, id) or '',
                         redis.call('HGET', PROGRESS, id) or '', since, worker,
                         redis.call('HSTRLEN', JOBS, id)}) do
    answer[#answer + 1] = part
  end
end

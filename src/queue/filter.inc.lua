-- Filters, by which operators choose jobs.
-- include: jobs

local filter = {}

-- The filter in four arguments, '' for any: the kind; a part of the last error; a part of the
-- payload, of the kind, of the last error or of the id; and the least age in milliseconds.
function filter.read(kind, reason, text, older)
  local age = tonumber(older) or 0
  return {kind = kind, reason = reason, text = text, before = age > 0 and now - age or math.huge}
end

-- Whether a text has this part, at or behind a place.
function filter.has(text, part, from)
  return part == '' or string.find(text, part, from or 1, true) ~= nil
end

-- Whether the text is a part of the payload or the kind. Most records do not contain it at all:
-- this is checked before a record is parsed.
function filter.has_text(record, text)
  if not filter.has(record, text) then
    return false
  end
  local job = jobs.read(record)
  return filter.has(job.kind_name, text) or filter.has(record, text, job.payload_at)
end

-- Whether a job fits. `since`: when its age began. `history`: that of a done job; other jobs have
-- theirs in HISTORY.
function filter.fits(which, id, record, since, history)
  if since > which.before or which.kind ~= '' and jobs.kind_of(record) ~= which.kind then
    return false
  elseif which.reason == '' and which.text == '' then
    return true
  end
  local problem = jobs.read_history(history or redis.call('HGET', HISTORY, id)).problem
  return filter.has(problem, which.reason) and
         (filter.has(id, which.text) or filter.has(problem, which.text) or
          filter.has_text(record, which.text))
end

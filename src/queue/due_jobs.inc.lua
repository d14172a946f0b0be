-- Delayed jobs whose time has come: the next claim makes them ready, see promote.inc.lua. They are
-- {id, score among the ready}, in order; 200 at most, fewer when they are large.

local function due_jobs(delayed, jobs)
  local due = redis.call('ZRANGE', delayed, '-inf', stamp, 'BYSCORE', 'LIMIT', 0, 200, 'WITHSCORES')
  local found, bytes = {}, 0
  for i = 1, #due, 2 do
    local record = bytes < 16000000 and redis.call('HGET', jobs, due[i])
    if record then -- neither a schedule nor a timer
      local priority = string.match(record, '^%a p(%S+)') or 0
      local since_2020 = math.max(due[i + 1] - 1577836800000, 0)
      found[#found + 1] = {due[i], priority * 2^42 + 2^40 + since_2020}
      bytes = bytes + #record
    end
  end
  table.sort(found, function(a, b)
    return a[2] < b[2] or a[2] == b[2] and a[1] < b[1]
  end)
  return found
end

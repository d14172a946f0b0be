-- What a job leaves behind when it is over: done, cancelled, drained or trimmed. Whoever takes it
-- out of its zset and out of :j calls forget().

redis.call('HLEN', UNIQUE) -- must not fail later

-- The key may belong to another job by now, or be held for a time whatever becomes of the job.
local function free_unique(unique, id)
  if unique ~= '' and redis.call('HGET', UNIQUE, unique) == id then
    redis.call('HDEL', UNIQUE, unique)
  end
end

-- `counts`: whether it has a place in its group; nil: if it was started once.
local function forget(id, record, counts)
  if string.byte(record) ~= 97 then -- not plain
    local _, unique, group = read(record)
    free_unique(unique, id)
    if counts == nil then
      counts = redis.call('HEXISTS', EXTRAS, id) == 1
    end
    if counts then
      free_place(group)
    elseif group ~= '' then
      unpark(group) -- it may have been the one that was let in
    end
    tell_parents(id)
  end
  redis.call('HDEL', EXTRAS, id, 'p' .. id, 'c' .. id, 'd' .. id)
end

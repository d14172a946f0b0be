-- Events of jobs, published to watchers: see watch.c.
-- include: keys
-- include: shared/decimal

local events = {}

-- Whether the queue is watched: the field `watched` of META says until when. `meta`: a table with
-- this field.
function events.are_watched(meta)
  return (meta.watched or 0) > now
end

-- Publishes what happened to jobs: "time word id id ..." and, on a second line, a note. The channel
-- has the name of META. Does nothing while there is no watcher.
function events.publish(meta, word, ids, note)
  if events.are_watched(meta) and (ids[1] or note) then
    redis.pcall('SPUBLISH', META, decimal.whole(now) .. ' ' .. word .. ' ' ..
                table.concat(ids, ' ') .. '\n' .. (note or ''))
  end
end

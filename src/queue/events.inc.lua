-- Events: what happens to jobs, published to watchers. See watch.c.
-- include: keys
-- include: shared/decimal

local events = {}

-- Whether the queue is watched. A field of META says until when; `meta` has what was read of META.
function events.are_watched(meta)
  return (meta.watched or 0) > now
end

-- Tells watchers what happened to jobs: "time word id id ..." and, on a second line, a note. The
-- channel has the name of META. Costs nothing while there is no watcher.
function events.tell(meta, word, ids, note)
  if events.are_watched(meta) and (ids[1] or note) then
    redis.pcall('SPUBLISH', META, decimal.whole(now) .. ' ' .. word .. ' ' ..
                table.concat(ids, ' ') .. '\n' .. (note or ''))
  end
end

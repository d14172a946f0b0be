-- Events: what happens to jobs, published to watchers. See watch.c.
-- include: keys
-- include: shared/decimal

local events = {}

-- Whether somebody watches. META has the time until which; `meta` is what was read of it.
function events.are_watched(meta)
  return (meta.watched or 0) > now
end

-- Tells watchers what happened to jobs: "time word id id ..." and, on a second line, a note. The
-- channel has the name of META. Costs nothing while nobody watches.
function events.tell(meta, word, ids, note)
  if events.are_watched(meta) and (ids[1] or note) then
    redis.pcall('SPUBLISH', META, decimal.whole(now) .. ' ' .. word .. ' ' ..
                table.concat(ids, ' ') .. '\n' .. (note or ''))
  end
end

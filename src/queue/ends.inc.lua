-- The ends of rich jobs that were done: the same as forget(), for many at once.

local gone = redis.call('HMGET', KEYS[2], unpack(rich))
local uniques, owners, places, awaited = {}, {}, {}, {}
for i, id in ipairs(rich) do
  local _, unique, group = read(gone[i] or '')
  if unique ~= '' then
    uniques[#uniques + 1], owners[#owners + 1] = unique, id
  end
  if group ~= '' then
    places[group] = (places[group] or 0) + 1
  end
  awaited[i] = 'c' .. id
end
local parents = redis.call('HMGET', EXTRAS, unpack(awaited))
local holders = uniques[1] and redis.call('HMGET', UNIQUE, unpack(uniques)) or {}
local crowded = redis.call('ZCARD', PARKED) > 0

-- A key may belong to another job by now, or be held for a time.
local free = {}
for i, unique in ipairs(uniques) do
  free[#free + 1] = holders[i] == owners[i] and unique or nil
end
if free[1] then
  redis.call('HDEL', UNIQUE, unpack(free))
end
for group, count in pairs(places) do
  if redis.call('HINCRBY', GROUPS, group, -count) <= 0 then
    redis.call('HDEL', GROUPS, group)
  end
  for _ = 1, crowded and count or 0 do
    unpark(group)
  end
end
for i, id in ipairs(rich) do
  if parents[i] then
    tell_parents(id)
    redis.call('HDEL', EXTRAS, awaited[i])
  end
end

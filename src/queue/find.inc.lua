-- Where a job is: its state as in tkl_job_state, the key, the member and its score. An active one has
-- to be looked for: `cursor` is not '0' when that takes another call.

local cursor = '0'

local function find_active(id, from)
  cursor = from
  for _ = 1, 20 do
    local next_cursor, found = unpack(redis.call('ZSCAN', ACTIVE, cursor, 'MATCH', id .. '*',
                                                 'COUNT', 500))
    cursor = next_cursor
    if found[1] then
      cursor = '0'
      return 4, ACTIVE, found[1], found[2]
    end
    if cursor == '0' then
      return 0
    end
  end
  return 0
end

local function find(id, record, from)
  local places = {[1] = READY, [2] = DELAYED, [3] = FLOW, [6] = DEAD}
  for state, key in pairs(places) do
    local score = redis.call('ZSCORE', key, id)
    if score then
      return state, key, id, score
    end
  end
  local line, _, group = read(record)
  local spot = parking_spot(group, line, id)
  if group ~= '' and redis.call('ZSCORE', PARKED, spot) then
    return 3, PARKED, spot, '0'
  end
  return find_active(id, from)
end

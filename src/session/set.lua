-- session/set: set or remove fields of a session's data.
-- KEYS[1...] store  see keys.inc.lua; the last two are of this session
-- ARGV[1] id        of the session
-- ARGV[2] most_fields  of a session
-- ARGV[3] most_bytes   of their names and values together
-- ARGV[4...] fields  two for each: its name, and its value, '' to remove it
-- returns TKL_OK; TKL_NOTFOUND when the session has ended; TKL_FULL when a limit would be exceeded
-- include: keys
-- include: sessions

local FIRST_FIELD = 4 -- index of the first name in the arguments
local id, most_fields, most_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local session = sessions.find(id, clock.ms())
if not session then
  return TKL_NOTFOUND
end

-- The data after the change: its fields, their number and their bytes.
local values, count, bytes = {}, 0, 0
local function put(field, value)
  local before = values[field]
  if before then
    count, bytes = count - 1, bytes - #field - #before
  end
  values[field] = value ~= '' and value or nil
  if values[field] then
    count, bytes = count + 1, bytes + #field + #value
  end
end

local stored = redis.call('HGETALL', DATA)
for i = 1, #stored, 2 do
  put(stored[i], stored[i + 1])
end
for i = FIRST_FIELD, #ARGV, 2 do
  put(ARGV[i], ARGV[i + 1])
end
if count > most_fields or bytes > most_bytes then
  return TKL_FULL
end
for i = FIRST_FIELD, #ARGV, 2 do
  if values[ARGV[i]] then
    redis.call('HSET', DATA, ARGV[i], values[ARGV[i]])
  else
    redis.call('HDEL', DATA, ARGV[i])
  end
end
lasting.keep_until(DATA, session.ends, sessions.slack_of(session.ttl))
return TKL_OK

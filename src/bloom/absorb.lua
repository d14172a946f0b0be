-- bloom/absorb: add a part of a filter that lives on another server.
-- KEYS[1] meta      hash of the filter that gets the part
-- KEYS[2] part      of the filter that gets the other part
-- KEYS[3] room      for the other part, removed again
-- ARGV[1] version   of the shape
-- ARGV[2] other     part, as GET has returned it
-- ARGV[3] lifetime  of the part in milliseconds; 0: for ever
-- returns TKL_OK, or TKL_BUSY when the filter has another shape

local ROOM_MS = '60000' -- in case the server stops in the middle
local META, PART, ROOM = unpack(KEYS)
local version, other, lifetime = unpack(ARGV)

if redis.call('HGET', META, 'version') ~= version then
  return TKL_BUSY
end
redis.call('SET', ROOM, other, 'PX', ROOM_MS)
redis.call('BITOP', 'OR', PART, PART, ROOM)
redis.call('UNLINK', ROOM)
if lifetime ~= '0' then
  redis.call('PEXPIRE', PART, lifetime)
end
return TKL_OK

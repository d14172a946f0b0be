-- unique/gather: count or merge copies of HyperLogLogs that live on other servers.
-- KEYS[1] own      HyperLogLog
-- KEYS[2...] room  keys for the copies, removed again
-- ARGV[1] command  PFCOUNT or PFMERGE
-- ARGV[2...] copies as GET has returned them
-- returns the result of the command

local OWN, command = KEYS[1], ARGV[1]
local rooms, copies = {unpack(KEYS, 2)}, {unpack(ARGV, 2)}
local ROOM_MS = '60000' -- in case the server stops in the middle

for i, room in ipairs(rooms) do
  redis.call('SET', room, copies[i], 'PX', ROOM_MS)
end
local answer = redis.pcall(command, OWN, unpack(rooms))
redis.call('UNLINK', unpack(rooms))
return answer

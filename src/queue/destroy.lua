-- queue/destroy: remove all that a queue has, but for those who wait for its jobs.
-- KEYS[1] meta
-- KEYS[2] jobs
-- KEYS[3] ready
-- KEYS[4] delayed
-- KEYS[5] active
-- KEYS[6] extras
-- KEYS[7] dead
-- KEYS[8] unique
-- KEYS[9] unique_till
-- KEYS[10] groups
-- KEYS[11] parked
-- KEYS[12] group_times
-- KEYS[13] flow
-- KEYS[14] requests_0
-- KEYS[15] requests_1
-- KEYS[16] schedules
-- returns how many there were

local count = redis.call('UNLINK', unpack(KEYS))
-- Those who wait for results learn that there will be none; see result.c.
local results = string.gsub(string.sub(KEYS[1], 1, -2), '[%[%]*?\\]', '\\%0') .. 'o:*'
local channels = redis.pcall('PUBSUB', 'SHARDCHANNELS', results)
for i = 1, #channels do
  redis.pcall('SPUBLISH', channels[i], 'G')
end
return count

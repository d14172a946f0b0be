-- queue/drop: remove all keys of a queue, but not its waiters.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] results   and an id: the channel on which the end of a job is published
-- flags: allow-oom
-- returns how many keys there were
-- include: totals

local results = ARGV[1]

local count = redis.call('UNLINK', META, JOBS, READY, DELAYED, ACTIVE, HISTORY, PROGRESS, DEAD,
                         UNIQUE, UNIQUE_ENDS, GROUPS, PARKED, RATES, FLOW, FLOW_PLACES, PARENTS,
                         SCHEDULES, REQUESTS_EVEN, REQUESTS_ODD, WORKERS, SINCE, TIMES, HEADS,
                         DONE, DONE_JOBS)
-- Callers that wait for results learn that there will be none.
local pattern = string.gsub(results, '[%[%]*?\\]', '\\%0') .. '*'
for _, channel in ipairs(redis.pcall('PUBSUB', 'SHARDCHANNELS', pattern)) do
  redis.pcall('SPUBLISH', channel, 'gone')
end
return count

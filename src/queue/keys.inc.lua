-- The keys of a queue, in the order in which every script gets them; queue.c says more.

local META          = KEYS[1]  -- hash: totals, settings, limits
local JOBS          = KEYS[2]  -- hash: id, record
local READY         = KEYS[3]  -- zset of ids by their place: see jobs.inc.lua
local DELAYED       = KEYS[4]  -- zset of jobs, schedules, timers by time: jobs.read_delayed()
local ACTIVE        = KEYS[5]  -- zset of claims, "id:token", by the end of the lease
local WAITERS       = KEYS[6]  -- zset of waiters by arrival
local LINE          = KEYS[7]  -- hash: notes of the line; also the channel of all waiters
local HISTORY       = KEYS[8]  -- hash: id, what happened to the job
local PROGRESS      = KEYS[9]  -- hash: id, progress
local DEAD          = KEYS[10] -- zset of ids by time of death
local UNIQUE        = KEYS[11] -- hash: unique key, the job that has it
local UNIQUE_ENDS   = KEYS[12] -- zset of unique keys with an expiry, by it
local GROUPS        = KEYS[13] -- hash: group, how many of its jobs are started and not over
local PARKED        = KEYS[14] -- zset of jobs that their groups hold back, by group, priority, id
local RATES         = KEYS[15] -- zset of groups by the time until which their rate is used up
local FLOW          = KEYS[16] -- zset of jobs that wait for other jobs, by the number of those
local FLOW_PLACES   = KEYS[17] -- hash: id, "priority due" of the same jobs
local PARENTS       = KEYS[18] -- hash: id, ids of the jobs that wait for it
local SCHEDULES     = KEYS[19] -- hash: id, schedule
local REQUESTS_EVEN = KEYS[20] -- hash: answers to pushes, in one window of time
local REQUESTS_ODD  = KEYS[21] -- the same for the next window; the two alternate
local WORKERS       = KEYS[22] -- hash: worker, when it was seen and what it says of itself
local SINCE         = KEYS[23] -- hash: id, "token time" of a claim that was renewed
local TIMES         = KEYS[24] -- hash: how long jobs waited and ran: see times.inc.lua
local HEADS         = KEYS[25] -- hash: id, head of a large record: see jobs.inc.lua
local RESULT        = KEYS[26] -- string: the result of a job, in scripts about one job

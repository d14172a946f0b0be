-- queue/claim: report done jobs and claim ready ones; when none is ready, wait in line.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] token     of this claim
-- ARGV[2] lease     milliseconds
-- ARGV[3] max       jobs to claim; 0 to report only
-- ARGV[4] channel   where this waiter listens; '' not to wait
-- ARGV[5] repeated  1: the token may be in line, or have got jobs, already; '': it is new
-- ARGV[6] results   and an id: the channel on which the end of a job is published
-- ARGV[7] bytes     of the records of the jobs that were done
-- ARGV[8] rich      how many of them, the first ones, have more to remove than their record
-- ARGV[9] worker    its description, see workers.introduce(); '' when it was sent a moment ago
-- ARGV[10] counts   of jobs, see times.count(); '' for none
-- ARGV[11...] done  "id:token" of each
-- flags: allow-oom
-- returns {now, milliseconds until the waiter should look (-1: no need), 1 if another waiter looks
--   then, indexes in `done` of claims that are not valid any more, schedules to fire, ids, records,
--   histories}
-- include: shared/clock
-- include: reports
-- include: claims
-- include: workers

now = clock.ms()
local FIRST_DONE = 11 -- index in ARGV
local token, lease, max, channel, repeated, results, bytes, rich, worker, counts = unpack(ARGV)

local place = line.place(token, lease, channel)
local waiting, meta, budget = line.read_waiting(), totals.read(), ends.new_budget()
local stale = {}
workers.introduce(worker, tonumber(lease), channel ~= '')
times.count(counts)
if ARGV[FIRST_DONE] then
  local done = {unpack(ARGV, FIRST_DONE)}
  stale = reports.finish_done(done, tonumber(rich), tonumber(bytes), meta, budget)
end

-- An earlier attempt of this claim may have got jobs without the caller knowing.
local in_line = repeated ~= '' and redis.call('ZSCORE', WAITERS, place)
local got_before = repeated ~= '' and not in_line and claims.jobs_given_to(token, lease) or {}
if got_before[1] then
  return {now, -1, 0, stale, {}, got_before, claims.records_of(got_before)}
end

local schedules = claims.promote_delayed(budget)
claims.take_back_expired(meta, results, budget)
waiting.has_looked = true
local gate = line.open_gate(meta)
local ids, records, histories, more = claims.take_ready(math.min(max, gate.room), gate, meta)
if ids[1] then
  claims.lease_jobs(ids, token, lease)
  events.publish(meta, 'claimed', ids)
  line.take_room(gate, #ids)
  if in_line then
    line.leave(waiting, place)
  end
end

local look_in_ms, other_looks = -1, 0
if not ids[1] and channel ~= '' then -- the caller waits, behind earlier waiters
  line.hand_over(waiting, gate)
  line.close_gate(gate)
  look_in_ms, other_looks = line.wait_in_line(waiting, place, token, gate)
  unique.prune()
elseif waiting.count > 0 then -- the waiters get what the caller left
  line.wake(waiting, gate)
else
  line.close_gate(gate)
end
if more then -- ready jobs may be behind the parked ones: the caller looks at once
  look_in_ms = 0
end
return {now, look_in_ms, other_looks, stale, schedules, ids, records, histories}

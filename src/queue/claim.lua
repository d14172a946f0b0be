-- queue/claim: report what was done, and claim what is ready; when nothing is, wait in line.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] token     of this claim
-- ARGV[2] lease     milliseconds
-- ARGV[3] max       jobs to claim; 0 to report only
-- ARGV[4] channel   where this waiter listens; '' not to wait
-- ARGV[5] again     1: the token may stand in line, or have got something, already
-- ARGV[6] results   and an id: the channel on which the end of a job is published
-- ARGV[7] bytes     of the records of the jobs that were done
-- ARGV[8] rich      how many of those, the first ones, have more to their end than their record
-- ARGV[9...] done   "id:token" of each
-- returns {now, milliseconds until the waiter should look (-1: no need), 1 if another waiter looks
--   then, the places of the stale among those done, schedules to fire, ids, records, histories}
-- include: shared/clock
local now = clock_ms()
-- include: report
-- include: claim
local FIRST_DONE = 9 -- of the arguments
local token, lease, max, channel, again, results, bytes, rich = unpack(ARGV)
local waiter = waiter_of(token, lease, channel)

local waiting, meta, budget = check_waiting(), read_meta(), new_budget()
allow_when_full()
local stale, schedules, ids, records, histories = {}, {}, {}, {}, {}
if ARGV[FIRST_DONE] then
  stale = report_done({unpack(ARGV, FIRST_DONE)}, tonumber(rich), tonumber(bytes), meta, budget)
end
local stands = again ~= '' and redis.call('ZSCORE', WAITERS, waiter)
if again ~= '' and not stands then
  ids = given_to(token, lease)
  records, histories = fetch(ids)
end
if ids[1] then -- the caller did not hear of them
  return {now, -1, 0, stale, schedules, ids, records, histories}
end

schedules = promote(budget)
reclaim(meta, results, budget)
waiting.has_looked = true
local gate, look_in, other, more = open_gate(meta), -1, 0, false
ids, records, histories, more = take(math.min(max, gate.room), gate, meta)
if ids[1] then
  lease_jobs(ids, token, lease)
  take_room(gate, #ids)
end
if ids[1] and stands then
  leave_line(waiting, waiter)
end
if ids[1] or channel == '' then -- the caller does not wait: the waiters get what is left
  if waiting.count > 0 then
    wake(waiting, gate)
  else
    close_gate(gate)
  end
else -- those in front of the caller come first
  serve(waiting, gate)
  close_gate(gate)
  look_in, other = stand(waiting, waiter, gate)
  prune_unique()
end
if more then -- there may be others behind those that stepped aside: the caller looks at once
  look_in = 0
end
return {now, look_in, other, stale, schedules, ids, records, histories}

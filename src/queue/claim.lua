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
-- flags: allow-oom
-- returns {now, milliseconds until the waiter should look (-1: no need), 1 if another waiter looks
--   then, the places of the stale among those done, schedules to fire, ids, records, histories}
-- include: shared/clock
-- include: reports
-- include: claims

now = clock.ms()
local FIRST_DONE = 9 -- index in ARGV
local token, lease, max, channel, again, results, bytes, rich = unpack(ARGV)

local place = line.place(token, lease, channel)
local waiting, meta, budget = line.read_waiting(), totals.read(), ends.new_budget()
local stale = {}
if ARGV[FIRST_DONE] then
  stale = reports.done({unpack(ARGV, FIRST_DONE)}, tonumber(rich), tonumber(bytes), meta, budget)
end

-- An earlier attempt of this claim may have got jobs without the caller knowing.
local stands = again ~= '' and redis.call('ZSCORE', WAITERS, place)
local given = again ~= '' and not stands and claims.given_to(token, lease) or {}
if given[1] then
  return {now, -1, 0, stale, {}, given, claims.records_of(given)}
end

local schedules = claims.promote(budget)
claims.reclaim(meta, results, budget)
waiting.has_looked = true
local gate = line.open_gate(meta)
local ids, records, histories, more = claims.take(math.min(max, gate.room), gate, meta)
if ids[1] then
  claims.lease_jobs(ids, token, lease)
  line.take_room(gate, #ids)
  if stands then
    line.leave(waiting, place)
  end
end

local look_in, other = -1, 0
if not ids[1] and channel ~= '' then -- the caller waits, behind earlier waiters
  line.hand_over(waiting, gate)
  line.close_gate(gate)
  look_in, other = line.stand(waiting, place, token, gate)
  unique.prune()
elseif waiting.count > 0 then -- the waiters get what the caller left
  line.wake(waiting, gate)
else
  line.close_gate(gate)
end
if more then -- more jobs may be behind those that stepped aside: the caller looks at once
  look_in = 0
end
return {now, look_in, other, stale, schedules, ids, records, histories}

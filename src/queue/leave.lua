-- queue/leave: a waiter gives up its place in line; without a place, it gets the jobs that it was
-- given.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] token
-- ARGV[2] lease     milliseconds
-- ARGV[3] channel   where it listens
-- flags: allow-oom
-- returns {now, ids, records, histories}
-- include: shared/clock
-- include: claims

now = clock.ms()
local token, lease, channel = unpack(ARGV)

local waiting, meta = line.read_waiting(), totals.read()
local ids, records, histories = {}, {}, {}
if not line.leave(waiting, line.place(token, lease, channel)) then
  ids = claims.jobs_given_to(token, lease)
  records, histories = claims.records_of(ids)
end
if not ids[1] then -- it may have been recalled, or asked to look
  line.wake(waiting, line.open_gate(meta))
end
return {now, ids, records, histories}

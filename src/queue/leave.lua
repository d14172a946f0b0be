-- queue/leave: a waiter gives up its place in line, or learns what it was given.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] token
-- ARGV[2] lease     milliseconds
-- ARGV[3] channel   where it listens
-- returns {now, ids, records, histories}
-- include: shared/clock
local now = clock_ms()
-- include: claim
local token, lease, channel = unpack(ARGV)

local waiting, meta = check_waiting(), read_meta()
allow_when_full()
local ids, records, histories = {}, {}, {}
if not leave_line(waiting, waiter_of(token, lease, channel)) then
  ids = given_to(token, lease)
  records, histories = fetch(ids)
end
if not ids[1] then -- it may have been told to come, or have promised to look
  wake(waiting, open_gate(meta))
end
return {now, ids, records, histories}

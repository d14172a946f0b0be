-- queue/part: a consumer is closed: add its last counts, and remove it from the workers.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] worker    its id; '' when it leaves claims behind, and operators ask whose they are
-- ARGV[2] counts    see times.count(); '' for none
-- flags: allow-oom
-- returns TKL_OK
-- include: times

local worker, counts = unpack(ARGV)

times.count(counts)
if worker ~= '' then
  redis.pcall('HDEL', WORKERS, worker)
end
return TKL_OK

-- files/drop_receiver: the channel forgets a receiver. The process that receives under the name is
-- refused from then on: it is not the holder any more.
-- KEYS[1...] channel  see keys.inc.lua
-- ARGV[1] receiver
-- ARGV[2] tokens     of files that it lacks, one after the other
-- ARGV[3] reason     for the list of what went wrong
-- flags: allow-oom
-- returns code: TKL_NOTFOUND it was not known, and lacks nothing
-- include: keys
-- include: holders
-- include: trouble

local receiver, tokens, reason = unpack(ARGV)

if redis.call('ZREM', RECEIVERS, receiver) == 0 and tokens == '' then
  return TKL_NOTFOUND
end
redis.call('HSET', HOLDERS, receiver, DROPPED)
redis.call('PEXPIRE', HOLDERS, KEPT_MS)
if tokens ~= '' then
  trouble.note(tokens, receiver, '', reason)
end
return TKL_OK

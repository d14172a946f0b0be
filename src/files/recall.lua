-- files/recall: take back the chunks that a sender that is gone has reserved and not committed.
-- KEYS[1...] channel  see keys.inc.lua; then the record of the file, and its chunks from
--   `first` on, which may have been written
-- ARGV[1] token
-- ARGV[2] first  '': none are named
-- flags: allow-oom
-- returns {code, chunks sent, chunks reserved}: TKL_NOTFOUND there is nothing to take back;
--   TKL_NOTOWNER the lease is not over, or not for sure
-- include: shared/clock
-- include: keys
-- include: accounts
-- include: deadlines

now = clock.ms()
local FIXED_KEYS = CHANNEL_KEYS + 1 -- number of keys before the chunks
local FILE = KEYS[CHANNEL_KEYS + 1]
local token, first = unpack(ARGV)

local lease_end = tonumber(redis.call('ZSCORE', ENDS, LEASE .. token) or math.huge)
if lease_end > now then
  return {TKL_NOTOWNER}
end
local file = records.read(FILE)
if not file or file.state ~= 'open' or file.reserved == file.sent then
  redis.call('ZREM', ENDS, LEASE .. token)
  return {TKL_NOTFOUND}
end
if deadlines.put_off(LEASE .. token, file, FILE, 'lease_doubt') then
  return {TKL_NOTOWNER}
end
local named = #KEYS - FIXED_KEYS
if first == '' or records.whole(first) ~= file.sent or named < file.reserved - file.sent then
  return {TKL_OK, file.sent, file.reserved}
end
for i = FIXED_KEYS + 1, #KEYS do
  redis.call('UNLINK', KEYS[i])
end
redis.call('ZREM', ENDS, LEASE .. token)
file.reserved = file.sent
redis.call('HSET', FILE, 'reserved', file.reserved)
accounts.set_bytes(token, accounts.chunked_bytes(file))
redis.pcall('SPUBLISH', ROOM, '')
return {TKL_OK, file.sent, file.reserved}

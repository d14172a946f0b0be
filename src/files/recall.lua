-- files/recall: take back what a sender that is gone has reserved and not committed.
-- KEYS[1] state  hash; see files.c for all of them
-- KEYS[2] files  zset
-- KEYS[3] ends   zset
-- KEYS[4] bytes  hash
-- KEYS[5] room   a channel, no key: who waits for room hears of it
-- KEYS[6] file   hash
-- KEYS[7...] its chunks from `first` on, which may have been written
-- ARGV[1] token
-- ARGV[2] first  '': none are named
-- returns {code, chunks sent, chunks reserved}: TKL_NOTFOUND there is nothing to take back;
--   TKL_NOTOWNER the lease is not over, or not for sure
-- include: shared/clock
local now = clock_ms()
local STATE, FILES, ENDS, BYTES, ROOM, FILE = unpack(KEYS)
-- include: shared/codes
-- include: account
-- include: overdue

local FIXED_KEYS = 6

local token, first = unpack(ARGV)
local lease_end = tonumber(redis.call('ZSCORE', ENDS, LEASE .. token) or math.huge)
if lease_end > now then
  return {TKL_NOTOWNER}
end
local file = read_file(FILE)
if not file or file.state ~= 'open' or file.reserved == file.sent then
  redis.call('ZREM', ENDS, LEASE .. token)
  return {TKL_NOTFOUND}
end
if is_doubtful(LEASE .. token, file, FILE, 'lease_doubt') then
  return {TKL_NOTOWNER}
end
local named = #KEYS - FIXED_KEYS
if first == '' or whole(first) ~= file.sent or named < file.reserved - file.sent then
  return {TKL_OK, file.sent, file.reserved}
end
for i = FIXED_KEYS + 1, #KEYS do
  redis.call('UNLINK', KEYS[i])
end
redis.call('ZREM', ENDS, LEASE .. token)
file.reserved = file.sent
redis.call('HSET', FILE, 'reserved', file.reserved)
set_bytes(token, chunked_bytes(file))
redis.pcall('SPUBLISH', ROOM, '')
return {TKL_OK, file.sent, file.reserved}

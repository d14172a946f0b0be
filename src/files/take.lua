-- files/take: go on with a file whose sender was interrupted.
-- KEYS[1...] channel  see keys.inc.lua; then the record of the file, and how far its
--   receivers are
-- ARGV[1] token
-- ARGV[2] holder  of the new sender
-- ARGV[3] fingerprint
-- returns {code, bytes of a chunk, chunks sent, how many more may be sent, checksum of those sent}:
--   TKL_NOTFOUND it is gone or complete; TKL_NOTOWNER a later process sends it
-- include: shared/clock
local now = clock_ms()
-- include: keys
local FILE, AT = unpack(KEYS, CHANNEL_KEYS + 1)
-- include: shared/codes
-- include: file
-- include: overdue

local token, holder, fingerprint = unpack(ARGV)
local file = read_file(FILE)
if not file or file.state ~= 'open' then
  if fingerprint ~= '' then
    redis.call('HDEL', RESUME, fingerprint)
  end
  return {TKL_NOTFOUND}
end
if file.holder > holder then
  return {TKL_NOTOWNER} -- a request that comes late
end
redis.call('HSET', FILE, 'holder', holder)
note_lease(token, file, FILE)
keep_file(FILE, AT, file)
return {TKL_OK, file.chunk, file.sent, file.reserved - file.sent, redis.call('HGET', FILE, 'prefix')}

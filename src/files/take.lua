-- files/take: continue a file whose sender was interrupted.
-- KEYS[1...] channel  see keys.inc.lua; then the record of the file, and how far its
--   receivers are
-- ARGV[1] token
-- ARGV[2] holder  of the new sender
-- ARGV[3] fingerprint
-- ARGV[4] call    that sends it; '': it is not remembered
-- returns {code, bytes of a chunk, chunks sent, how many more may be sent, checksum of the sent
--   chunks}: TKL_NOTFOUND it is gone or complete; TKL_NOTOWNER a later process sends it
-- include: shared/clock
-- include: keys
-- include: records
-- include: deadlines

now = clock.ms()
local FILE, AT = unpack(KEYS, CHANNEL_KEYS + 1)
local token, holder, fingerprint, call = unpack(ARGV)

local file = records.read(FILE)
if not file or file.state ~= 'open' then
  if fingerprint ~= '' then
    redis.call('HDEL', RESUME, fingerprint)
  end
  return {TKL_NOTFOUND}
end
if file.holder > holder then
  return {TKL_NOTOWNER} -- a late request of an older process
end
redis.call('HSET', FILE, 'holder', holder, 'call', call)
deadlines.note_lease(token, file, FILE)
records.keep(FILE, AT, file)
return {TKL_OK, file.chunk, file.sent, file.reserved - file.sent,
        redis.call('HGET', FILE, 'prefix')}

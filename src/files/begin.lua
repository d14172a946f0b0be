-- files/begin: announce a file that will be sent in chunks.
-- KEYS[1...] channel  see keys.inc.lua; then the record of the file, how far its receivers
--   are, and what the call has sent
-- ARGV[1] token       of the file, random
-- ARGV[2] holder      of the sender: its turn, and random digits
-- ARGV[3] fingerprint of the source; '': it cannot be sent again
-- ARGV[4] limit       of the channel in bytes; '': as it is
-- ARGV[5] largest     bytes of a chunk
-- ARGV[6] lease       of the sender, ms
-- ARGV[7] resume      how long a sender that is gone may come back, ms
-- ARGV[8] ttl         ms
-- ARGV[9] name
-- ARGV[10] size       '': not known
-- ARGV[11] mtime      '': not known
-- ARGV[12] mode
-- ARGV[13...] the receivers
-- returns {code, bytes of a chunk, how many chunks may be sent}; {TKL_EXISTS, token, '1' all of it
--   is sent}: the sender of this source was interrupted, the file has this token; {TKL_FULL, overdue
--   file, ms to the next}
-- include: shared/clock
local now = clock_ms()
-- include: keys
local FILE, AT, SENT = unpack(KEYS, CHANNEL_KEYS + 1)
-- include: shared/codes
-- include: account
-- include: overdue
-- include: turn
-- include: sent
-- include: places

local FIXED_ARGUMENTS = 12

local token, holder, fingerprint, limit, largest, lease, resume, ttl, name, size, mtime, mode =
  unpack(ARGV)

local function record(chunk)
  redis.call('HSET', FILE, 'state', 'open', 'holder', holder, 'name', name, 'size', size, 'mtime',
             mtime, 'mode', mode, 'chunk', chunk, 'sent', 0, 'reserved', 1, 'freed', 0, 'lease',
             lease, 'resume', resume, 'ttl', ttl, 'prefix', '', 'source', fingerprint)
  redis.call('ZADD', AT, unpack(places(0, FIXED_ARGUMENTS + 1, #ARGV)))
  redis.call('ZADD', RECEIVERS, 'NX', unpack(places(now, FIXED_ARGUMENTS + 1, #ARGV)))
  if fingerprint ~= '' then
    redis.call('HSET', RESUME, fingerprint, token)
  end
end

local known = read_file(FILE)
if known then
  return {TKL_OK, known.chunk, known.reserved - known.sent} -- a repeated request
end
begin_channel(token, limit)
local before = sent_as(fingerprint)
if before then
  return {TKL_EXISTS, before, 1}
end
local interrupted = fingerprint ~= '' and redis.call('HGET', RESUME, fingerprint)
if interrupted then
  return {TKL_EXISTS, interrupted, 0}
end
local chunk = math.min(whole(largest), math.floor(read_account().limit / CHUNKS_LEAST))
if not new_file_fits(chunk) then
  return {TKL_FULL, overdue_file()}
end
record(chunk)
note_turn(holder)
note_change(token)
local file = read_file(FILE)
note_lease(token, file, FILE)
set_bytes(token, chunked_bytes(file))
keep_file(FILE, AT, file)
keep_channel({STATE, FILES, ENDS, BYTES, RESUME, RECEIVERS}, ttl)
redis.pcall('SPUBLISH', STATE, '')
return {TKL_OK, chunk, 1}

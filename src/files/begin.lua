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
-- ARGV[11] mtime      seconds.nanoseconds; '': not known
-- ARGV[12] mode
-- ARGV[13] call       that sends it; '': it is not remembered
-- ARGV[14] kept       how long the call may be interrupted, ms
-- ARGV[15...] the receivers
-- returns {code, bytes of a chunk, how many chunks may be sent}; {TKL_EXISTS, token, '1' all of it
--   is sent}: the sender of this source was interrupted, the file has this token; {TKL_FULL,
--   overdue file, ms to the next}
-- include: shared/clock
-- include: keys
-- include: accounts
-- include: deadlines
-- include: turns
-- include: sending
-- include: receivers

now = clock.ms()
local FIXED_ARGUMENTS = 14
local FILE, AT, SENT = unpack(KEYS, CHANNEL_KEYS + 1)
local token, holder, fingerprint, limit, largest, lease, resume, ttl, name, size, mtime, mode, call,
  kept = unpack(ARGV)

-- Writes the record of the file, its receivers and its source.
local function record(chunk)
  redis.call('HSET', FILE, 'state', 'open', 'holder', holder, 'name', name, 'size', size, 'mtime',
             mtime, 'mode', mode, 'chunk', chunk, 'sent', 0, 'reserved', 1, 'freed', 0, 'lease',
             lease, 'resume', resume, 'ttl', ttl, 'prefix', '', 'source', fingerprint,
             'call', call)
  redis.call('ZADD', AT, unpack(receivers.with_score(ARGV, 0, FIXED_ARGUMENTS + 1, #ARGV)))
  receivers.note(ARGV, FIXED_ARGUMENTS + 1, #ARGV)
  if fingerprint ~= '' then
    redis.call('HSET', RESUME, fingerprint, token)
  end
end

local known = records.read(FILE)
if known then
  return {TKL_OK, known.chunk, known.reserved - known.sent} -- a repeated request
end
accounts.begin_channel(token, limit)
local before = sending.token_of(SENT, fingerprint)
if before then
  return {TKL_EXISTS, before, 1}
end
local interrupted = fingerprint ~= '' and redis.call('HGET', RESUME, fingerprint)
if interrupted then
  return {TKL_EXISTS, interrupted, 0}
end
local chunk = math.min(records.whole(largest), math.floor(accounts.read().limit / CHUNKS_LEAST))
if not accounts.new_file_fits(chunk) then
  return {TKL_FULL, deadlines.overdue()}
end
record(chunk)
turns.note(holder)
accounts.note_change(token)
local file = records.read(FILE)
deadlines.note_lease(token, file, FILE)
accounts.set_bytes(token, accounts.chunked_bytes(file))
records.keep(FILE, AT, file)
accounts.keep_channel({STATE, FILES, ENDS, BYTES, RESUME, RECEIVERS}, ttl)
sending.begin(SENT, kept)
redis.pcall('SPUBLISH', STATE, '')
return {TKL_OK, chunk, 1}

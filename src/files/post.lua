-- files/post: store small files, as many as fit.
-- KEYS[1...] channel  see keys.inc.lua; then what the call has sent; then of each file: its
--   record, and how far its receivers are
-- ARGV[1] limit      of the channel in bytes; '': as it is
-- ARGV[2] ttl        ms
-- ARGV[3] kept       how long the call may be interrupted, ms; '': it is not remembered
-- ARGV[4] call       that sends them; '': it is not remembered
-- ARGV[5] count      of receivers
-- ARGV[6...] the receivers; then of each file: token, fingerprint, name, mtime, mode, checksum, its
--   bytes
-- returns {code, overdue file, ms to the next, token of each file taken ...}: TKL_FULL none; the
--   token is another one if the file was sent before the call was interrupted
-- include: shared/clock
-- include: keys
-- include: accounts
-- include: deadlines
-- include: sending
-- include: receivers

now = clock.ms()
local FIXED_KEYS = CHANNEL_KEYS + 1
local FIXED_ARGUMENTS, WORDS = 5, 7 -- WORDS: arguments per file
local SENT = KEYS[CHANNEL_KEYS + 1]
local limit, ttl, kept, call, receiver_count = unpack(ARGV, 1, FIXED_ARGUMENTS)

ttl = records.whole(ttl)
local last_receiver = FIXED_ARGUMENTS + records.whole(receiver_count)
local lacking = receivers.with_score(ARGV, 0, FIXED_ARGUMENTS + 1, last_receiver)
local first_token = ARGV[last_receiver + 1]

-- Stores a file; all receivers still lack it.
local function add(key, at, words)
  local token, fingerprint, name, mtime, mode, sum, data = unpack(words)
  redis.call('HSET', key, 'state', 'complete', 'holder', '', 'name', name, 'size', #data, 'mtime',
             mtime, 'mode', mode, 'chunk', 0, 'sent', 0, 'reserved', 0, 'freed', 0, 'lease', 0,
             'resume', 0, 'ttl', ttl, 'prefix', sum, 'call', call, 'data', data)
  redis.call('ZADD', at, unpack(lacking))
  accounts.note_change(token)
  redis.call('ZADD', ENDS, now + ttl, token)
  accounts.set_bytes(token, OVERHEAD + accounts.bytes_of(#data))
  records.keep(key, at, {ttl = ttl, lease = 0, resume = 0})
  sending.note(SENT, fingerprint, token, kept)
end

accounts.begin_channel(first_token, limit)
local taken = {}
for i, keys in ipairs(records.keys(KEYS, FIXED_KEYS)) do
  local key, at = keys.record, keys.at
  local from = last_receiver + WORDS * (i - 1) + 1
  local words = {unpack(ARGV, from, from + WORDS - 1)}
  local token, fingerprint = unpack(words)
  local before = sending.token_of(SENT, fingerprint)
  if not before and redis.call('EXISTS', key) == 0 then -- else a repeated request
    local data = words[WORDS]
    if not accounts.new_file_fits(accounts.bytes_of(#data)) then
      break
    end
    add(key, at, words)
  end
  taken[#taken + 1] = before or token
end
receivers.note(ARGV, FIXED_ARGUMENTS + 1, last_receiver)
accounts.keep_channel({STATE, FILES, ENDS, BYTES, RECEIVERS}, ttl)
sending.keep(SENT, kept)
redis.pcall('SPUBLISH', STATE, '')
local overdue, left = deadlines.overdue()
return {#taken > 0 and TKL_OK or TKL_FULL, overdue, left, unpack(taken)}

-- files/post: small files, whole, as many as fit.
-- KEYS[1...] channel  see keys.inc.lua; then what the call has sent; then of each file: its
--   record, and how far its receivers are
-- ARGV[1] limit      of the channel in bytes; '': as it is
-- ARGV[2] ttl        ms
-- ARGV[3] kept       how long the call may be interrupted, ms; '': it is not remembered
-- ARGV[4] count      of receivers
-- ARGV[5...] the receivers; then of each file: token, fingerprint, name, mtime, mode, checksum, its
--   bytes
-- returns {code, overdue file, ms to the next, token of each file taken ...}: TKL_FULL none; the
--   token is another one if the file was sent before the call was interrupted
-- include: shared/clock
local now = clock_ms()
-- include: keys
local SENT = KEYS[CHANNEL_KEYS + 1]
-- include: shared/codes
-- include: account
-- include: overdue
-- include: sent
-- include: places

local FIXED_KEYS = CHANNEL_KEYS + 1
local FIXED_ARGUMENTS, WORDS = 4, 7 -- WORDS: arguments of each file

local limit, ttl, kept, receiver_count = unpack(ARGV, 1, FIXED_ARGUMENTS)
ttl = whole(ttl)

local last_receiver = FIXED_ARGUMENTS + whole(receiver_count)
local lacking = places(0, FIXED_ARGUMENTS + 1, last_receiver)

local function add(key, at, words)
  local token, fingerprint, name, mtime, mode, sum, data = unpack(words)
  redis.call('HSET', key, 'state', 'complete', 'holder', '', 'name', name, 'size', #data, 'mtime',
             mtime, 'mode', mode, 'chunk', 0, 'sent', 0, 'reserved', 0, 'freed', 0, 'lease', 0,
             'resume', 0, 'ttl', ttl, 'prefix', sum, 'data', data)
  redis.call('ZADD', at, unpack(lacking))
  note_change(token)
  redis.call('ZADD', ENDS, now + ttl, token)
  set_bytes(token, OVERHEAD + least(#data))
  keep_file(key, at, {ttl = ttl, lease = 0, resume = 0})
  note_sent(fingerprint, token, kept)
end

local first_token = ARGV[last_receiver + 1]
begin_channel(first_token, limit)
local taken = {}
for i, keys in ipairs(file_keys(FIXED_KEYS)) do
  local key, at = keys.record, keys.at
  local from = last_receiver + WORDS * (i - 1) + 1
  local words = {unpack(ARGV, from, from + WORDS - 1)}
  local token, fingerprint = unpack(words)
  local before = sent_as(fingerprint)
  if not before and redis.call('EXISTS', key) == 0 then -- else a repeated request
    local data = words[WORDS]
    if not new_file_fits(least(#data)) then
      break
    end
    add(key, at, words)
  end
  taken[#taken + 1] = before or token
end
redis.call('ZADD', RECEIVERS, 'NX', unpack(places(now, FIXED_ARGUMENTS + 1, last_receiver)))
keep_channel({STATE, FILES, ENDS, BYTES, RECEIVERS}, ttl)
keep_sent(kept)
redis.pcall('SPUBLISH', STATE, '')
local overdue, left = overdue_file()
return {#taken > 0 and TKL_OK or TKL_FULL, overdue, left, unpack(taken)}

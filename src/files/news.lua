-- files/news: the files that have changed since a reader last asked.
-- KEYS[1...] channel  see keys.inc.lua
-- ARGV[1] epoch   of the reader's cursor
-- ARGV[2] cursor  number of the last change that the reader knows
-- ARGV[3] max     files
-- flags: allow-oom
-- returns {epoch, overdue file, ms to the next, {token, number of its change, ...}, '1' the list of
--   files is being rebuilt: ask again}
-- include: shared/clock
-- include: keys
-- include: accounts
-- include: deadlines

now = clock.ms()
local MENDED_AT_ONCE = 100
local epoch, cursor, max = unpack(ARGV)

-- Rebuilds the list of files from the account, some files at a time, when the server has evicted
-- the list: then the account has files that the list lacks. The keys of these files may still
-- exist.
local function mend()
  if redis.call('HLEN', BYTES) <= redis.call('ZCARD', FILES) then
    return 0
  end
  local from = redis.call('HGET', STATE, 'mended') or '0'
  local scanned = redis.call('HSCAN', BYTES, from, 'COUNT', MENDED_AT_ONCE)
  for i = 1, #scanned[2], 2 do
    local token = scanned[2][i]
    if not redis.call('ZSCORE', FILES, token) then
      accounts.note_change(token)
    end
  end
  redis.call('HSET', STATE, 'mended', scanned[1])
  return 1
end

local mended = mend()
local current = redis.call('HGET', STATE, 'epoch') or ''
local from = current == epoch and '(' .. cursor or '-inf'
local overdue, left = deadlines.overdue()
local files = redis.call('ZRANGE', FILES, from, '+inf', 'BYSCORE', 'LIMIT', 0, max, 'WITHSCORES')
return {current, overdue, left, files, mended}

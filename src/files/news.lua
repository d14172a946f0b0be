-- files/news: the files that have changed since a reader last asked.
-- KEYS[1...] channel  see keys.inc.lua
-- ARGV[1] epoch   of the reader's cursor
-- ARGV[2] cursor  number of the last change that the reader knows
-- ARGV[3] max     files
-- returns {epoch, overdue file, ms to the next, {token, number of its change, ...}}
-- include: shared/clock
local now = clock_ms()
-- include: keys
-- include: overdue

local epoch, cursor, max = unpack(ARGV)
local current = redis.call('HGET', STATE, 'epoch') or ''
local from = current == epoch and '(' .. cursor or '-inf'
local overdue, left = overdue_file()
local files = redis.call('ZRANGE', FILES, from, '+inf', 'BYSCORE', 'LIMIT', 0, max, 'WITHSCORES')
return {current, overdue, left, files}

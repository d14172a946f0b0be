-- online/fold: combine days, some more of them with each call.
-- KEYS[1] folded   combination of the days so far; expires soon
-- KEYS[2...] days  their keys; for bitmaps one chunk of each
-- ARGV[1] kind
-- ARGV[2] over     any or every
-- ARGV[3] first    1: these are the first days
-- returns 1

local FIRST_DAY = 2 -- index of the first day in the keys
local LIVES_MS = 60000 -- in case the client does not return

local FOLDED, days = KEYS[1], {unpack(KEYS, FIRST_DAY)}
local kind, over, first = unpack(ARGV)

local function fold_bitmaps(...)
  return redis.call('BITOP', over == 'every' and 'AND' or 'OR', FOLDED, ...)
end

local fold = {
  set = function(...)
    return redis.call(over == 'every' and 'SINTERSTORE' or 'SUNIONSTORE', FOLDED, ...)
  end,
  bitmap = fold_bitmaps,
  assigned = fold_bitmaps,
  hll = function(...) return redis.call('PFMERGE', FOLDED, ...) end,
}

if first == '1' then
  fold[kind](unpack(days))
else
  fold[kind](FOLDED, unpack(days))
end
redis.call('PEXPIRE', FOLDED, LIVES_MS)
return 1

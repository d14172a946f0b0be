-- bits/find: find the first bit with a value in a range. Bits behind the last byte are 0.
-- KEYS[1] bitmap
-- ARGV[1] value  0 or 1
-- ARGV[2] first  bit of the range; negative: from the end of the last byte
-- ARGV[3] last   bit of the range; ditto
-- flags: no-writes
-- returns the bit, or -1
-- include: shared/decimal

local BYTE_BITS = 8
local BITMAP = KEYS[1]
local value, first, last = unpack(ARGV)

local size = BYTE_BITS * redis.call('STRLEN', BITMAP)

local function from_start(bit)
  return bit < 0 and bit + size or bit
end

first = math.max(0, from_start(tonumber(first)))
last = from_start(tonumber(last))
local at = -1
if first <= last and first < size then
  at = redis.call('BITPOS', BITMAP, value, decimal.whole(first),
                  decimal.whole(math.min(last, size - 1)), 'BIT')
end
if at < 0 and value == '0' and first <= last and last >= size then
  at = math.max(first, size)
end
return at

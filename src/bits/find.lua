-- bits/find: where the first bit of a value is, within a range. Bits behind the last byte are 0.
-- KEYS[1] bitmap
-- ARGV[1] value  0 or 1
-- ARGV[2] first  bit of the range; negative: from the end of the last byte
-- ARGV[3] last   bit of the range; ditto
-- returns the bit, or -1

local key, value = KEYS[1], ARGV[1]
local size = 8 * redis.call('STRLEN', key)

local function from_start(bit)
  return bit < 0 and bit + size or bit
end

local first = math.max(0, from_start(tonumber(ARGV[2])))
local last = from_start(tonumber(ARGV[3]))
local at = -1
if first <= last and first < size then
  at = redis.call('BITPOS', key, value, string.format('%d', first),
                  string.format('%d', math.min(last, size - 1)), 'BIT')
end
if at < 0 and value == '0' and first <= last and last >= size then
  at = math.max(first, size)
end
return at

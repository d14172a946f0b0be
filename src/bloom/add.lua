-- bloom/add: add items to the newest sub-filter, unless an older one has them.
-- KEYS[1] meta     hash
-- KEYS[2...] parts strings: of all sub-filters, the oldest first
-- ARGV[1] version  of the shape that the places were made for
-- ARGV[2] field    of the newest sub-filter's count in meta
-- ARGV[3] capacity of the newest sub-filter
-- ARGV[4] groups   of each sub-filter, a digit each
-- ARGV[5...] items each for each sub-filter and group three: the first byte with a bit of it in the
-- part, the last, and as bytes: the number of the key (two), where the bits are between them (five:
-- the second to the last of six bytes, the first being 1), the bits of these (six)
-- returns TKL_NOTFOUND, TKL_BUSY when the shape is another, or a string with a letter for each
-- item: n for new, o for old, r for refused since the newest sub-filter is full

local call, keys, args = redis.call, KEYS, ARGV
local byte, char, sub, bor = string.byte, string.char, string.sub, bit.bor
local meta = call('HMGET', KEYS[1], 'version', ARGV[2])
if meta[1] ~= ARGV[1] then
  return meta[1] and 1 or 4
end
local filters = {byte(ARGV[4], 1, -1)}
local newest = table.remove(filters)
local room = ARGV[3] - meta[2]
local at = 5

-- Goes over an item's bits in one sub-filter; says whether all are, or were, set.
local function visit(groups, set)
  local all = true
  for _ = 49, groups do
    local high, low, b, c, d, e, f, a1, b1, c1, d1, e1, f1 = byte(args[at + 2], 1, 13)
    local key, start = keys[high * 256 + low], args[at]
    local old = call('GETRANGE', key, start, args[at + 1])
    if #old < f then
      old = old .. string.rep('\0', f - #old)
    end
    local new = char(bor(byte(old), a1)) .. sub(old, 2, b - 1)
      .. char(bor(byte(old, b), b1)) .. sub(old, b + 1, c - 1)
      .. char(bor(byte(old, c), c1)) .. sub(old, c + 1, d - 1)
      .. char(bor(byte(old, d), d1)) .. sub(old, d + 1, e - 1)
      .. char(bor(byte(old, e), e1)) .. sub(old, e + 1, f - 1) .. char(bor(byte(old, f), f1))
    if new ~= old then
      all = false
      if set then
        call('SETRANGE', key, start, new)
      end
    end
    at = at + 3
  end
  return all
end

local letters, added = {}, 0
while args[at] do
  local old, letter = false, 'o'
  for f = 1, #filters do
    old = visit(filters[f]) or old
  end
  local set = not old and added < room
  if not visit(newest, set) and not old then
    letter, added = set and 'n' or 'r', set and added + 1 or added
  end
  letters[#letters + 1] = letter
end
if added > 0 then
  call('HINCRBY', KEYS[1], ARGV[2], added)
end
return table.concat(letters)

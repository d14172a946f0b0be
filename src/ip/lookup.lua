-- ip/lookup: find the ranges of some addresses, and their places.
-- KEYS[1] table       hash
-- KEYS[2] ranges      sorted set of chunks, of the caller's generation (see ip.c)
-- KEYS[3] places      hash: number of a place -> its fields, of the same generation
-- ARGV[1] generation  that the caller takes for the current one
-- ARGV[2...] addresses of 16 bytes
-- returns the current generation ('' without a table) and, if that is the caller's, for each
--   address the first and the last address of its range in one string, and the fields of its
--   place; two empty strings when it is in no range; 0 in place of a string that is damaged

local TABLE, RANGES, PLACES = KEYS[1], KEYS[2], KEYS[3]
local ADDRESS = 16 -- bytes of an address
local NUMBER = 4 -- bytes of the number of a place
local DAMAGED = 0
local byte, sub = string.byte, string.sub

-- Strings cannot be compared by <: that is the server's locale's order.
local function compare(chunk, at, address, from)
  for i = from, ADDRESS do
    local difference = byte(chunk, at + i - from) - byte(address, i)
    if difference ~= 0 then
      return difference
    end
  end
  return 0
end

-- The chunk that begins at the address or nearest before it.
local function chunk_of(address)
  local found = redis.call('ZREVRANGEBYLEX', RANGES, '[' .. address .. '\255', '-', 'LIMIT', 0, 1)
  return found[1]
end

-- The shared bytes, the size of a record, and how many there are; nil when it is no chunk.
local function shape_of(chunk)
  local shared = byte(chunk, ADDRESS + 1)
  if not shared or shared > ADDRESS then
    return nil
  end
  local size = 2 * (ADDRESS - shared) + NUMBER
  local count = (#chunk - ADDRESS - 1) / size
  if count < 1 or count % 1 ~= 0 then
    return nil
  end
  return shared, size, count
end

-- Where the last record begins that is not behind the address.
local function search(chunk, size, count, address, from)
  local low, high = 0, count - 1
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if compare(chunk, ADDRESS + 2 + middle * size, address, from) > 0 then
      high = middle - 1
    else
      low = middle
    end
  end
  return ADDRESS + 2 + low * size
end

local function find(address)
  local chunk = chunk_of(address)
  if not chunk then
    return redis.call('EXISTS', RANGES) == 1 and '' or DAMAGED, ''
  end
  local shared, size, count = shape_of(chunk)
  if not shared then
    return DAMAGED, ''
  end
  local prefix = sub(chunk, 1, shared)
  if prefix ~= sub(address, 1, shared) then
    return '', ''
  end
  local width = ADDRESS - shared
  local at = search(chunk, size, count, address, shared + 1)
  if compare(chunk, at + width, address, shared + 1) < 0 then
    return '', ''
  end
  local first, last = sub(chunk, at, at + width - 1), sub(chunk, at + width, at + 2 * width - 1)
  local place = redis.call('HGET', PLACES, sub(chunk, at + 2 * width, at + size - 1))
  return prefix .. first .. prefix .. last, place or DAMAGED
end

local generation = ARGV[1]
local current = redis.call('HGET', TABLE, 'generation') or ''
local answer = {current}
if current == generation and current ~= '' then
  for i = 2, #ARGV do
    answer[2 * i - 2], answer[2 * i - 1] = find(ARGV[i])
  end
end
return answer

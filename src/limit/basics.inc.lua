-- What all scripts of limits need: errors, whole numbers.
-- include: shared/exact

local OTHER = 'WRONGTYPE the key is in use by another kind of limit'
local DAMAGED = 'DAMAGED the state of the limit is not what tackle writes'
local IS_KIND = {gcra = true, bucket = true, window = true, approx = true, concurrency = true}

-- Ends the script: the state is another kind's, or damaged.
local function refuse(found)
  error({err = IS_KIND[found] and OTHER or DAMAGED})
end

-- A whole number as text.
local function text_of(number)
  return string.format('%d', number)
end

-- The numbers of a state that is stored as "kind number number ...", all of them exact.
local function numbers_of(text, kind, pattern)
  local found = {string.match(text, pattern)}
  if found[1] ~= kind then
    local first = string.match(text, '^%a+')
    refuse(first ~= kind and first)
  end
  for i = 2, #found do
    found[i] = tonumber(found[i])
    if found[i] > EXACT then
      refuse()
    end
  end
  return unpack(found, 2)
end

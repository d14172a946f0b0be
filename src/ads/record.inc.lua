-- Ads as they are stored.
--
-- :ads has the terms of an ad, packed: what was agreed and does not change by use.
-- :values has a text that is read for every candidate: items of a letter and a text, each ended by
-- NUL. b: the eCPM of the ad. k, v: a required kind and its values. w: a word of the ad; the item e
-- before it is the eCPM of the word, and is missing where that is the ad's.
-- include: keys
-- include: shared/exact
-- include: shared/expiry

local NAME_SHOWN = 80   -- bytes of an ad's name in an error
local VALUE_FORMAT = '>d' -- of struct: a number as bytes that sort as the numbers do
local VALUE_BYTES = 8

local function damaged(ad)
  error({err = 'DAMAGED the ad ' .. string.sub(ad, 1, NAME_SHOWN) .. ' was not written by tackle'})
end

local function are_texts(list)
  if type(list) ~= 'table' or #list == 0 then
    return false
  end
  for _, text in ipairs(list) do
    if type(text) ~= 'string' then
      return false
    end
  end
  return true
end

local function is_amount(number)
  return type(number) == 'number' and number >= 0 and number < EXACT
end

-- {serial, type, price, budget (0: none), locations, kinds (of the gate), gates}
local function unpack_terms(ad, packed)
  local fine, terms = pcall(cmsgpack.unpack, packed)
  if not fine or type(terms) ~= 'table' or type(terms.serial) ~= 'number'
      or not (terms.type == 'cpm' or terms.type == 'cpc' or terms.type == 'cpa')
      or not is_amount(terms.price) or not is_amount(terms.budget)
      or not are_texts(terms.locations) or not are_texts(terms.gates)
      or type(terms.kinds) ~= 'string' then
    damaged(ad)
  end
  return terms
end

-- nil: there is no such ad.
local function read_terms(ad)
  local packed = redis.call('HGET', ADS, ad)
  return packed and unpack_terms(ad, packed) or nil
end

-- The same for an ad that must be there.
local function terms_of(ad)
  return read_terms(ad) or damaged(ad)
end

-- An eCPM as it was written, else nil.
local function read_ecpm(text)
  local ecpm = tonumber(text)
  return ecpm and ecpm >= 0 and ecpm < math.huge and ecpm or nil
end

-- {base, needs = {{kind, value, value ...} ...}, words = {word ...}, ecpm = {word = eCPM}, items =
-- how many there were, size = their bytes}
local function read_values(ad)
  local text = redis.call('HGET', VALUES, ad)
  local values = {needs = {}, words = {}, ecpm = {}, items = 0, size = #(text or '')}
  local special
  for tag, item in string.gmatch(text or '', '(%l)([^%z]*)%z') do
    values.items = values.items + 1
    if tag == 'b' then
      values.base = read_ecpm(item)
    elseif tag == 'k' then
      values.needs[#values.needs + 1] = {item}
    elseif tag == 'v' and #values.needs > 0 then
      table.insert(values.needs[#values.needs], item)
    elseif tag == 'e' then
      special = read_ecpm(item)
    elseif tag == 'w' then
      values.words[#values.words + 1] = item
      values.ecpm[item] = special or values.base
      special = nil
    end
  end
  if not values.base then
    damaged(ad)
  end
  return values
end

local LONGEST_NUMBER = 16 -- digits

-- A number that was counted; what is missing or cannot be one is 0.
local function counted(text)
  local number = text and tonumber(text)
  return number and number >= 0 and number < 10 ^ LONGEST_NUMBER and number or 0
end

local function damaged_number(key)
  error({err = 'DAMAGED a number in ' .. key .. ' was not written by tackle'})
end

-- Adds to a number that is counted. Returns the sum.
local function increase(key, field, by)
  local sum = redis.pcall('HINCRBY', key, field, string.format('%.0f', by))
  if type(sum) == 'number' then
    return sum
  end
  if string.find(sum.err, 'integer', 1, true) or string.find(sum.err, 'overflow', 1, true) then
    damaged_number(key)
  end
  error(sum)
end

local function exact(number)
  return string.format('%.17g', number)
end

local function write_values(ad, values)
  local items = {'b', exact(values.base), '\0'}
  for _, need in ipairs(values.needs) do
    for i, text in ipairs(need) do
      items[#items + 1] = (i == 1 and 'k' or 'v') .. text .. '\0'
    end
  end
  for _, word in ipairs(values.words) do
    local ecpm = values.ecpm[word]
    if ecpm ~= values.base then
      items[#items + 1] = 'e' .. exact(ecpm) .. '\0'
    end
    items[#items + 1] = 'w' .. word .. '\0'
  end
  redis.call('HSET', VALUES, ad, table.concat(items))
end

-- The field of what was counted for a word of an ad: words hold no NUL.
local function of_word(what, word, ad)
  return what .. ':' .. word .. '\0' .. ad
end

-- Before the first write: an error now when a key that was not read is of another type.
local function check_types(hashes, sets)
  for _, key in ipairs(hashes) do
    redis.call('HLEN', key)
  end
  for _, key in ipairs(sets) do
    redis.call('ZCARD', key)
  end
end

-- After the last write.
local function expire_in(ttl)
  expire_together(META, {ADS, VALUES, COUNTS, WORDS, INDEX, DUE, HEADS, GATES, TURN}, ttl)
end

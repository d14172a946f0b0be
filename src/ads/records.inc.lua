-- Ads as they are stored.
--
-- :ads has the terms of an ad, packed: they do not change by use.
-- :values has a text that is read for every candidate: items of a letter and a text, each ended by
-- NUL. b: the eCPM of the ad. u: its bound (exploring.inc.lua), if that is another number. k, v: a
-- required kind and its values. w: a word of the ad; the items e and h before it are the eCPM and
-- the bound of the word, and are missing where they equal the ad's.
-- include: keys
-- include: shared/decimal
-- include: shared/expiry
-- include: shared/types

local records = {}

local NAME_SHOWN = 80 -- bytes of an ad's name in an error
local VALUE_FORMAT = '>d' -- format of struct: bytes that sort like the numbers
local VALUE_BYTES = 8
local LONGEST_NUMBER = 16 -- digits
-- Counts of each ad, and of each of its words.
local COUNTED = {'views', 'clicks', 'actions', 'spent'}

-- Ends the script with an error: another program has changed the data of an ad.
function records.damaged(ad)
  error({err = 'DAMAGED the ad ' .. string.sub(ad, 1, NAME_SHOWN) .. ' was not written by tackle'})
end

function records.are_texts(list)
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

function records.is_amount(number)
  return type(number) == 'number' and number >= 0 and number < EXACT
end

-- The terms of an ad: {serial, type, price, budget (0: none), locations, kinds (the gate's),
-- gates}.
function records.unpack_terms(ad, packed)
  local fine, terms = pcall(cmsgpack.unpack, packed)
  if not fine or type(terms) ~= 'table' or type(terms.serial) ~= 'number'
      or not (terms.type == 'cpm' or terms.type == 'cpc' or terms.type == 'cpa')
      or not records.is_amount(terms.price) or not records.is_amount(terms.budget)
      or not records.are_texts(terms.locations) or not records.are_texts(terms.gates)
      or type(terms.kinds) ~= 'string' then
    records.damaged(ad)
  end
  return terms
end

-- The terms of an ad; nil when there is no such ad.
function records.read_terms(ad)
  local packed = redis.call('HGET', ADS, ad)
  return packed and records.unpack_terms(ad, packed) or nil
end

-- The terms of an ad that must exist.
function records.terms_of(ad)
  return records.read_terms(ad) or records.damaged(ad)
end

-- The eCPM in a text; nil: it was not written by tackle.
function records.read_ecpm(text)
  local ecpm = tonumber(text)
  return ecpm and ecpm >= 0 and ecpm < math.huge and ecpm or nil
end

-- The values of an ad: {base, bound, needs = {{kind, value, value ...} ...}, words = {word ...},
-- ecpm = {word = eCPM}, bounds = {word = bound}, items = number of items, size = bytes of the
-- text}.
function records.read_values(ad)
  local text = redis.call('HGET', VALUES, ad)
  local values = {needs = {}, words = {}, ecpm = {}, bounds = {}, items = 0,
    size = #(text or '')}
  local special, special_bound
  for tag, item in string.gmatch(text or '', '(%l)([^%z]*)%z') do
    values.items = values.items + 1
    if tag == 'b' then
      values.base = records.read_ecpm(item)
      values.bound = values.base
    elseif tag == 'u' then
      values.bound = records.read_ecpm(item) or values.base
    elseif tag == 'k' then
      values.needs[#values.needs + 1] = {item}
    elseif tag == 'v' and #values.needs > 0 then
      table.insert(values.needs[#values.needs], item)
    elseif tag == 'e' then
      special = records.read_ecpm(item)
    elseif tag == 'h' then
      special_bound = records.read_ecpm(item)
    elseif tag == 'w' then
      values.words[#values.words + 1] = item
      values.ecpm[item] = special or values.base
      values.bounds[item] = special_bound or values.bound
      special, special_bound = nil, nil
    end
  end
  if not values.base then
    records.damaged(ad)
  end
  return values
end

-- The count in a text. A text that is missing or not a count is 0.
function records.counted(text)
  local number = text and tonumber(text)
  return number and number >= 0 and number < 10 ^ LONGEST_NUMBER and number or 0
end

-- Ends the script with an error: another program has written a number.
function records.damaged_number(key)
  error({err = 'DAMAGED a number in ' .. key .. ' was not written by tackle'})
end

-- Adds to a count. Returns the sum.
function records.increase(key, field, by)
  local sum = redis.pcall('HINCRBY', key, field, string.format('%.0f', by))
  if type(sum) == 'number' then
    return sum
  end
  if string.find(sum.err, 'integer', 1, true) or string.find(sum.err, 'overflow', 1, true) then
    records.damaged_number(key)
  end
  error(sum)
end

-- Writes the values of an ad.
function records.write_values(ad, values)
  local items = {'b', decimal.exact(values.base), '\0'}
  if values.bound ~= values.base then
    items[#items + 1] = 'u' .. decimal.exact(values.bound) .. '\0'
  end
  for _, need in ipairs(values.needs) do
    for i, text in ipairs(need) do
      items[#items + 1] = (i == 1 and 'k' or 'v') .. text .. '\0'
    end
  end
  for _, word in ipairs(values.words) do
    local ecpm = values.ecpm[word]
    if ecpm ~= values.base then
      items[#items + 1] = 'e' .. decimal.exact(ecpm) .. '\0'
    end
    if values.bounds[word] ~= values.bound then
      items[#items + 1] = 'h' .. decimal.exact(values.bounds[word]) .. '\0'
    end
    items[#items + 1] = 'w' .. word .. '\0'
  end
  redis.call('HSET', VALUES, ad, table.concat(items))
end

-- The field that counts something for a word of an ad. Words contain no NUL.
function records.of_word(what, word, ad)
  return what .. ':' .. word .. '\0' .. ad
end

-- All fields that count something for a word of an ad.
function records.fields_of_word(word, ad)
  local fields = {}
  for i, what in ipairs(COUNTED) do
    fields[i] = records.of_word(what, word, ad)
  end
  return fields
end

-- Removes the counts of words of an ad.
function records.remove_words(ad, words)
  for _, word in ipairs(words) do
    redis.call('HDEL', WORDS, unpack(records.fields_of_word(word, ad)))
  end
end

-- The views, clicks and actions of an ad, and the amount spent; false where nothing is counted.
function records.read_counts(ad)
  local fields = {}
  for i, what in ipairs(COUNTED) do
    fields[i] = what .. ':' .. ad
  end
  return redis.call('HMGET', COUNTS, unpack(fields))
end

-- Lets all keys expire together, after the last write.
function records.expire_in(ttl)
  expiry.together(META, {ADS, VALUES, COUNTS, WORDS, INDEX, DUE, HEADS, GATES, TURN}, ttl)
end

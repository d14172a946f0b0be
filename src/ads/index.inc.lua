-- The index: members of one sorted set, in the order of bytes.
--
--   l location NUL gate NUL value ad     an ad by its eCPM
--   w word NUL location NUL value ad     an ad by the eCPM of one of its words, if that is more
--
-- `value` is a number as bytes that sort as the numbers do. A range of members with the same
-- beginning, read backwards, has the ads of a place, the best first. The score of an ad is never
-- above the greatest of its members that a page meets.
-- include: record

local WORD_MEMBERS = 64 -- of one ad at most: words times locations

local function by_ecpm(ecpm)
  return function(a, b)
    return ecpm[a] > ecpm[b]
  end
end

-- The words that are in the index, and the value of the ad's own members: it covers the words that
-- there is no room for.
local function indexed_words(terms, values)
  local better = {}
  for _, word in ipairs(values.words) do
    if values.ecpm[word] > values.base then
      better[#better + 1] = word
    end
  end
  local room = math.floor(WORD_MEMBERS / #terms.locations)
  if #better <= room then
    return better, values.base
  end
  table.sort(better, by_ecpm(values.ecpm))
  local covered = values.ecpm[better[room + 1]]
  local list = {}
  for i = 1, room do
    if values.ecpm[better[i]] > covered then
      list[#list + 1] = better[i]
    end
  end
  return list, covered
end

-- What the index has of an ad, {beginning of the member = value}.
local function place_of(terms, values)
  local place = {}
  local words, value = indexed_words(terms, values)
  for _, location in ipairs(terms.locations) do
    for _, gate in ipairs(terms.gates) do
      place['l' .. location .. '\0' .. gate .. '\0'] = value
    end
    for _, word in ipairs(words) do
      place['w' .. word .. '\0' .. location .. '\0'] = values.ecpm[word]
    end
  end
  return place
end

-- A member is its beginning, a value and an ad.
local function member_of(start, value, ad)
  return start .. struct.pack(VALUE_FORMAT, value) .. ad
end

-- The value of a member with this beginning.
local function value_of(member, start)
  if #member < #start + VALUE_BYTES then
    error({err = 'DAMAGED the index of ads was not written by tackle'})
  end
  return (struct.unpack(VALUE_FORMAT, member, #start + 1))
end

-- The ad in the part of a member that is behind its beginning: value and ad.
local function ad_of(rest)
  return string.sub(rest, VALUE_BYTES + 1)
end

-- The bound above all members with this beginning: that ends with NUL.
local function above(start)
  return (string.gsub(start, '%z$', '\1'))
end

-- The greatest value of all members with this beginning, nil: there are none.
local function head_of(start)
  local top = redis.call('ZRANGE', INDEX, '(' .. above(start), '[' .. start,
    'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
  return top and value_of(top, start)
end

-- :heads has that value for each beginning. After the place of an ad has changed from `old` to
-- `new` in these lists.
local function update_heads(starts, old, new)
  local heads = redis.call('HMGET', HEADS, unpack(starts))
  local set, gone = {}, {}
  for i, start in ipairs(starts) do
    local head = tonumber(heads[i] or nil)
    local value = new[start]
    if not head or not (value and value >= head) and old[start] == head then
      value = head_of(start)
      if not value then
        gone[#gone + 1] = start
      end
    elseif value and value < head then
      value = nil
    end
    if value then
      set[#set + 1] = start
      set[#set + 1] = exact(value)
    end
  end
  if #set > 0 then
    redis.call('HSET', HEADS, unpack(set))
  end
  if #gone > 0 then
    redis.call('HDEL', HEADS, unpack(gone))
  end
end

-- Makes the index have the place `new` of an ad instead of `old`.
local function move(ad, old, new)
  local add, remove, starts = {}, {}, {}
  for start, value in pairs(new) do
    if old[start] ~= value then
      add[#add + 1] = 0
      add[#add + 1] = member_of(start, value, ad)
      starts[#starts + 1] = start
    end
  end
  for start, value in pairs(old) do
    if new[start] ~= value then
      remove[#remove + 1] = member_of(start, value, ad)
      if not new[start] then
        starts[#starts + 1] = start
      end
    end
  end
  if #add > 0 then
    redis.call('ZADD', INDEX, unpack(add))
  end
  if #remove > 0 then
    redis.call('ZREM', INDEX, unpack(remove))
  end
  if #starts > 0 then
    update_heads(starts, old, new)
  end
end

-- The index: members of one sorted set, in the order of bytes.
--
--   l location NUL gate NUL value ad     an ad by its bound
--   w word NUL location NUL value ad     an ad by the bound of one of its words, if that is higher
--
-- `value` is a number as bytes that sort as the numbers do. A range of members with the same
-- beginning, read backwards, has the ads of a place, the best first. The rank of an ad is never
-- above the greatest of its members that a page meets.
-- include: records

local index = {}

local WORD_MEMBERS = 64 -- most members of one ad: words times locations

-- Returns a function that sorts words, greatest bound first.
function index.by_bound(bounds)
  return function(a, b)
    return bounds[a] > bounds[b]
  end
end

-- The words that get members in the index, and the value of the ad's own members. That value covers
-- the words without members.
function index.indexed_words(terms, values)
  local better = {}
  for _, word in ipairs(values.words) do
    if values.bounds[word] > values.bound then
      better[#better + 1] = word
    end
  end
  local room = math.floor(WORD_MEMBERS / #terms.locations)
  if #better <= room then
    return better, values.bound
  end
  table.sort(better, index.by_bound(values.bounds))
  local covered = values.bounds[better[room + 1]]
  local list = {}
  for i = 1, room do
    if values.bounds[better[i]] > covered then
      list[#list + 1] = better[i]
    end
  end
  return list, covered
end

-- The members of an ad in the index: {beginning of the member = value}.
function index.place_of(terms, values)
  local place = {}
  local words, value = index.indexed_words(terms, values)
  for _, location in ipairs(terms.locations) do
    for _, gate in ipairs(terms.gates) do
      place['l' .. location .. '\0' .. gate .. '\0'] = value
    end
    for _, word in ipairs(words) do
      place['w' .. word .. '\0' .. location .. '\0'] = values.bounds[word]
    end
  end
  return place
end

-- A member: its beginning, a value and an ad.
function index.member_of(start, value, ad)
  return start .. struct.pack(VALUE_FORMAT, value) .. ad
end

-- The value of a member with this beginning.
function index.value_of(member, start)
  if #member < #start + VALUE_BYTES then
    error({err = 'DAMAGED the index of ads was not written by tackle'})
  end
  return (struct.unpack(VALUE_FORMAT, member, #start + 1))
end

-- The ad in the rest of a member behind its beginning, which is value and ad.
function index.ad_of(rest)
  return string.sub(rest, VALUE_BYTES + 1)
end

-- A bound above all members with this beginning, which ends with NUL.
function index.above(start)
  return (string.gsub(start, '%z$', '\1'))
end

-- The greatest value of all members with this beginning; nil: there are none.
function index.head_of(start)
  local top = redis.call('ZRANGE', INDEX, '(' .. index.above(start), '[' .. start,
    'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
  return top and index.value_of(top, start)
end

-- Updates :heads, the greatest value for each beginning, after the members of an ad have changed
-- from `old` to `new` in these lists.
function index.update_heads(starts, old, new)
  local heads = redis.call('HMGET', HEADS, unpack(starts))
  local set, gone = {}, {}
  for i, start in ipairs(starts) do
    local head = tonumber(heads[i] or nil)
    local value = new[start]
    if not head or not (value and value >= head) and old[start] == head then
      value = index.head_of(start)
      if not value then
        gone[#gone + 1] = start
      end
    elseif value and value < head then
      value = nil
    end
    if value then
      set[#set + 1] = start
      set[#set + 1] = decimal.exact(value)
    end
  end
  if #set > 0 then
    redis.call('HSET', HEADS, unpack(set))
  end
  if #gone > 0 then
    redis.call('HDEL', HEADS, unpack(gone))
  end
end

-- Replaces the members `old` of an ad in the index by `new`.
function index.move(ad, old, new)
  local add, remove, starts = {}, {}, {}
  for start, value in pairs(new) do
    if old[start] ~= value then
      add[#add + 1] = 0
      add[#add + 1] = index.member_of(start, value, ad)
      starts[#starts + 1] = start
    end
  end
  for start, value in pairs(old) do
    if new[start] ~= value then
      remove[#remove + 1] = index.member_of(start, value, ad)
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
    index.update_heads(starts, old, new)
  end
end

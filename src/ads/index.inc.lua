-- The index: members of one sorted set, in the order of bytes.
--
--   l location NUL gate NUL value ad     an ad by its eCPM
--   w word NUL location NUL value ad     an ad by the eCPM of one of its words, if that is more
--
-- `value` is a number as eight bytes that sort as the numbers do. A range of members with the same
-- beginning, read backwards, has the ads of a place, the best first. The score of an ad is never
-- above the greatest of its members that a page meets.
-- include: record

local WORD_MEMBERS = 256 -- of one ad at most: words times locations

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

local function members_of(ad, terms, words, value, ecpm)
  local members = {}
  local rest = '\0' .. struct.pack('>d', value) .. ad
  for _, location in ipairs(terms.locations) do
    for _, gate in ipairs(terms.gates) do
      members['l' .. location .. '\0' .. gate .. rest] = true
    end
    for _, word in ipairs(words) do
      members['w' .. word .. '\0' .. location .. '\0' .. struct.pack('>d', ecpm[word]) .. ad] = true
    end
  end
  return members
end

-- {members, words}: what the index has of an ad. Without terms: nothing.
local function place_of(ad, terms, values)
  if not terms then
    return {members = {}, words = {}}
  end
  local words, value = indexed_words(terms, values)
  return {members = members_of(ad, terms, words, value, values.ecpm), words = words}
end

local function count_use(key, field, by)
  if redis.call('HINCRBY', key, field, by) <= 0 then
    redis.call('HDEL', key, field)
  end
end

local function count_words(words, others, by)
  local has = {}
  for _, word in ipairs(others) do
    has[word] = true
  end
  for _, word in ipairs(words) do
    if not has[word] then
      count_use(USED, word, by)
    end
  end
end

-- Makes the index have the place `new` of an ad instead of `old`.
local function move(old, new)
  local add, remove = {}, {}
  for member in pairs(new.members) do
    if not old.members[member] then
      add[#add + 1] = 0
      add[#add + 1] = member
    end
  end
  for member in pairs(old.members) do
    if not new.members[member] then
      remove[#remove + 1] = member
    end
  end
  if #add > 0 then
    redis.call('ZADD', INDEX, unpack(add))
  end
  if #remove > 0 then
    redis.call('ZREM', INDEX, unpack(remove))
  end
  count_words(new.words, old.words, 1)
  count_words(old.words, new.words, -1)
end

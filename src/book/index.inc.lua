-- The index: the members and fields of an entry beside its member of NAMES. An entry is "key NUL
-- [text] [NUL id]". Its forms are rows, separated by NUL: "shared form". A form has SYLLABLE marks
-- inside. `shared` counts the bytes at its beginning with which the key or a smaller form begins,
-- too: a search for these bytes finds the entry there. The first row is for mixing.inc.lua: how
-- each character may be written.
-- include: keys

local index = {}

local SYLLABLE = '\31'
local POINTER = '\0\1\1'
local ENTRY_MAX = 20000 -- bytes; a larger entry was not written by tackle

-- Bytes of UTF-8: continuation bytes begin at MIDDLE, then come the first bytes of characters of
-- two, three and four bytes. ESCAPE is also followed by one byte.
local MIDDLE, TWO, THREE, FOUR = 128, 192, 224, 240
local ESCAPE = 1

-- Returns how many continuation bytes of a character may follow this byte.
function index.bytes_behind(byte)
  if byte >= FOUR then
    return 3
  elseif byte >= THREE then
    return 2
  end
  return (byte >= TWO or byte == ESCAPE) and 1 or 0
end

-- Adds the parts of a key: from each character but the first to the end. A continuation byte
-- without a first byte, in text that is not UTF-8, counts as a character.
function index.add_parts_of_key(members, entry)
  local key = string.match(entry, '^[^%z]*')
  local behind = 0
  for i = 1, #key do
    local byte = string.byte(key, i)
    if byte >= MIDDLE and byte < TWO and behind > 0 then
      behind = behind - 1
    else
      behind = index.bytes_behind(byte)
      if i > 1 then
        members[#members + 1] = string.sub(key, i) .. '\0' .. entry
      end
    end
  end
end

-- Adds the parts of a form: from each syllable but the first to the end. At most as many as the
-- form has bytes.
function index.add_parts_of_form(members, form, entry)
  local at = string.find(form, SYLLABLE, 1, true)
  while at do
    local part = string.gsub(string.sub(form, at), SYLLABLE, '')
    members[#members + 1] = part .. '\0' .. entry
    at = string.find(form, SYLLABLE, at + 1, true)
  end
end

-- Returns the members of NAMES that point to the entry, and the members of PARTS.
function index.members_of(entry, forms, contains)
  local pointers, parts = {}, {}
  if contains then
    index.add_parts_of_key(parts, entry)
  end
  for shared, form in string.gmatch(forms, '(%d+) ([^%z]+)') do
    local plain = string.gsub(form, SYLLABLE, '')
    pointers[#pointers + 1] = plain .. POINTER .. shared .. ' ' .. entry
    if contains then
      index.add_parts_of_form(parts, form, entry)
    end
  end
  return pointers, parts
end

-- Adds members to a sorted set.
function index.add_members(key, members)
  if #members > 0 then
    local scored = {}
    for i, member in ipairs(members) do
      scored[2 * i - 1], scored[2 * i] = 0, member
    end
    redis.call('ZADD', key, unpack(scored))
  end
end

-- Removes members from a sorted set.
function index.remove_members(key, members)
  if #members > 0 then
    redis.call('ZREM', key, unpack(members))
  end
end

-- Adds an entry. Returns 1 when it is new, else 0.
function index.add(entry, forms, contains)
  if redis.call('ZADD', NAMES, 0, entry) == 0 then
    return 0
  end
  local pointers, parts = index.members_of(entry, forms, contains)
  index.add_members(NAMES, pointers)
  index.add_members(PARTS, parts)
  if forms ~= '' then
    redis.call('HSET', FORMS, entry, forms)
  end
  return 1
end

-- Removes an entry. Returns 1 when it existed, else 0.
function index.remove(entry, contains)
  if redis.call('ZREM', NAMES, entry) == 0 then
    return 0
  end
  local forms = redis.call('HGET', FORMS, entry)
  local pointers, parts = index.members_of(entry, forms or '', contains)
  index.remove_members(NAMES, pointers)
  index.remove_members(PARTS, parts)
  if forms then
    redis.call('HDEL', FORMS, entry)
  end
  return 1
end

-- The entry with this id, or false.
function index.entry_of(id)
  local entry = redis.call('HGET', IDS, id)
  if entry and #entry > ENTRY_MAX then
    error({err = 'DAMAGED an entry of this book was not written by tackle'})
  end
  return entry
end

-- What a book keeps of an entry beside its member of NAMES.
-- An entry is "key NUL [text] [NUL id]". Its forms are lines, separated by NUL: "shared form". A
-- form has SYLLABLE marks inside. `shared`: so many bytes are also the beginning of the key or of a
-- smaller form; whoever looks for that much has found the entry there. The first line is for
-- mixed.inc.lua: how each character may be written.
-- include: keys

local SYLLABLE = '\31'
local POINTER = '\0\1\1'
local ENTRY_MAX = 20000 -- bytes; what is larger was not written by tackle

-- Bytes of UTF-8: from MIDDLE on those in the middle of a character, then the first ones of
-- characters of two, three and four bytes. ESCAPE has one byte behind it, too.
local MIDDLE, TWO, THREE, FOUR = 128, 192, 224, 240
local ESCAPE = 1

-- How many bytes of the middle of a character may follow this one.
local function bytes_behind(byte)
  if byte >= FOUR then
    return 3
  elseif byte >= THREE then
    return 2
  end
  return (byte >= TWO or byte == ESCAPE) and 1 or 0
end

-- Parts of a key: from each character but the first to the end. A middle without a beginning, in
-- what is not UTF-8, is a character.
local function add_parts_of_key(members, entry)
  local key = string.match(entry, '^[^%z]*')
  local behind = 0
  for i = 1, #key do
    local byte = string.byte(key, i)
    if byte >= MIDDLE and byte < TWO and behind > 0 then
      behind = behind - 1
    else
      behind = bytes_behind(byte)
      if i > 1 then
        members[#members + 1] = string.sub(key, i) .. '\0' .. entry
      end
    end
  end
end

-- Parts of a form: from each syllable but the first to the end. At most as many as the form has
-- bytes.
local function add_parts_of_form(members, form, entry)
  local at = string.find(form, SYLLABLE, 1, true)
  while at do
    local part = string.gsub(string.sub(form, at), SYLLABLE, '')
    members[#members + 1] = part .. '\0' .. entry
    at = string.find(form, SYLLABLE, at + 1, true)
  end
end

-- Members of NAMES that point to the entry, and members of PARTS.
local function members_of(entry, forms, contains)
  local pointers, parts = {}, {}
  if contains then
    add_parts_of_key(parts, entry)
  end
  for shared, form in string.gmatch(forms, '(%d+) ([^%z]+)') do
    local plain = string.gsub(form, SYLLABLE, '')
    pointers[#pointers + 1] = plain .. POINTER .. shared .. ' ' .. entry
    if contains then
      add_parts_of_form(parts, form, entry)
    end
  end
  return pointers, parts
end

local function add_members(key, members)
  if #members > 0 then
    local scored = {}
    for i, member in ipairs(members) do
      scored[2 * i - 1], scored[2 * i] = 0, member
    end
    redis.call('ZADD', key, unpack(scored))
  end
end

local function remove_members(key, members)
  if #members > 0 then
    redis.call('ZREM', key, unpack(members))
  end
end

-- Returns 1 when the entry is new, else 0.
local function put_entry(entry, forms, contains)
  if redis.call('ZADD', NAMES, 0, entry) == 0 then
    return 0
  end
  local pointers, parts = members_of(entry, forms, contains)
  add_members(NAMES, pointers)
  add_members(PARTS, parts)
  if forms ~= '' then
    redis.call('HSET', FORMS, entry, forms)
  end
  return 1
end

-- Returns 1 when the entry was there, else 0.
local function take_entry(entry, contains)
  if redis.call('ZREM', NAMES, entry) == 0 then
    return 0
  end
  local forms = redis.call('HGET', FORMS, entry)
  local pointers, parts = members_of(entry, forms or '', contains)
  remove_members(NAMES, pointers)
  remove_members(PARTS, parts)
  if forms then
    redis.call('HDEL', FORMS, entry)
  end
  return 1
end

-- The entry of an id, or false.
local function entry_of(id)
  local entry = redis.call('HGET', IDS, id)
  if entry and #entry > ENTRY_MAX then
    error({err = 'DAMAGED an entry of this book was not written by tackle'})
  end
  return entry
end

-- The record of one file. See the essay of files.c.
-- include: keys
-- include: shared/exact

local NUMBERS = {'chunk', 'sent', 'reserved', 'freed', 'lease', 'resume', 'ttl'}
local TEXTS = 3 -- fields before them
local BACKSTOP_MS = 86400000 -- keys of a file that nobody removes expire a day later

local function damaged()
  error({err = 'DAMAGED another program has changed the channel'})
end

-- A whole number from 0 to EXACT, or an error.
local function whole(text)
  local number = tonumber(text)
  if not number or number < 0 or number > EXACT or number % 1 ~= 0 then
    damaged()
  end
  return number
end

-- {state, holder, size, chunk, sent ...}, checked; nil when there is no such file.
local function read_file(key)
  local values = redis.call('HMGET', key, 'state', 'holder', 'size', unpack(NUMBERS))
  local state, holder, size = unpack(values)
  if not state then
    return nil
  end
  local file = {state = state, holder = holder or '', size = size}
  for i, field in ipairs(NUMBERS) do
    file[field] = whole(values[TEXTS + i])
  end
  if file.freed > file.sent or file.sent > file.reserved then
    damaged()
  end
  return file
end

-- The keys of files, {record, places of its receivers} of each, behind so many other keys.
local function file_keys(others)
  local files = {}
  for i = others + 1, #KEYS, 2 do
    files[#files + 1] = {record = KEYS[i], at = KEYS[i + 1]}
  end
  return files
end

-- A write that a server without free memory permits. It then permits those that follow, too.
local function permit_writes(key)
  redis.call('HDEL', key, '')
end

-- Keys that are written now expire long after the file is given up, should nobody remove them.
local function keep_file(key, at, file)
  local ms = file.ttl + file.lease + file.resume + BACKSTOP_MS
  redis.call('PEXPIRE', key, ms)
  redis.call('PEXPIRE', at, ms)
end

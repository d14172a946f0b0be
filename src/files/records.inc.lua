-- The records of files. See the essay of files.c.
-- include: keys
-- include: shared/decimal

local records = {}

local NUMBERS = {'chunk', 'sent', 'reserved', 'freed', 'lease', 'resume', 'ttl'}
local TEXTS = 3 -- number of fields before them that are texts
local BACKSTOP_MS = 86400000 -- keys of a file that nobody removes expire a day later

-- Ends the script with an error.
function records.damaged()
  error({err = 'DAMAGED another program has changed the channel'})
end

-- The whole number in a text, 0 or more. Anything else ends the script.
function records.whole(text)
  return decimal.read_from(text, 0) or records.damaged()
end

-- A file, checked: {state, holder, size, chunk, sent ...}; nil when there is no such file.
function records.read(key)
  local values = redis.call('HMGET', key, 'state', 'holder', 'size', unpack(NUMBERS))
  local state, holder, size = unpack(values)
  if not state then
    return nil
  end
  local file = {state = state, holder = holder or '', size = size}
  for i, field in ipairs(NUMBERS) do
    file[field] = records.whole(values[TEXTS + i])
  end
  if file.freed > file.sent or file.sent > file.reserved then
    records.damaged()
  end
  return file
end

-- The keys of files, which come behind `others` other keys: {record, at (positions of its
-- receivers)} of each.
function records.keys(keys, others)
  local files = {}
  for i = others + 1, #keys, 2 do
    files[#files + 1] = {record = keys[i], at = keys[i + 1]}
  end
  return files
end

-- Lets the keys of a file expire long after it should be given up, in case no process removes them.
function records.keep(key, at, file)
  local ms = file.ttl + file.lease + file.resume + BACKSTOP_MS
  redis.call('PEXPIRE', key, ms)
  redis.call('PEXPIRE', at, ms)
end

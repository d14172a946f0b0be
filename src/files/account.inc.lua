-- The account of a channel: what its files hold, and what they may hold.
-- include: file

local OVERHEAD = 1024               -- of a file, for its record and places in indexes
local DEFAULT_LIMIT = 268435456     -- 256 MB
local TRIP = 16                     -- chunks: half of what a sender writes in one trip
local CHUNKS_LEAST = 4              -- that the limit holds: chunks are small enough for that
local CHANNEL_KEPT_MS = 30 * 86400000 -- a channel without files is forgotten after 30 days

-- An empty file counts as one byte: else any number of them would fit when nothing else is held.
local function least(bytes)
  return math.max(bytes, 1)
end

-- {held, limit}.
local function read_account()
  local values = redis.call('HMGET', STATE, 'held', 'limit')
  return {held = whole(values[1] or 0), limit = whole(values[2] or DEFAULT_LIMIT)}
end

-- What a file holds from now on.
local function set_bytes(token, bytes)
  local before = whole(redis.call('HGET', BYTES, token) or 0)
  redis.call('HSET', BYTES, token, bytes)
  redis.call('HINCRBY', STATE, 'held', bytes - before)
end

-- The bytes of a file in chunks: those that are there, and those its sender may write.
local function chunked_bytes(file)
  if file.state == 'complete' then
    return OVERHEAD + math.max(0, least(whole(file.size)) - file.freed * file.chunk)
  end
  return OVERHEAD + (file.reserved - file.freed) * file.chunk
end

-- Whether there are files at most, and no bytes of them.
local function nothing_held(account)
  return account.held <= OVERHEAD * redis.call('ZCARD', FILES)
end

-- Whether a new file fits. One does when nothing else is held, whatever the limit is: files whose
-- senders were interrupted keep nobody waiting.
local function new_file_fits(bytes)
  local account = read_account()
  if redis.call('ZCARD', FILES) == 0 and account.held ~= 0 then -- it was another program's
    account.held = 0
    redis.call('HSET', STATE, 'held', 0)
  end
  return account.held + OVERHEAD + bytes <= account.limit or nothing_held(account)
end

-- How many more chunks may be written. One may when nothing else is held, whatever the limit is.
local function chunks_that_fit(chunk)
  local account = read_account()
  local room = math.floor((account.limit - account.held) / chunk)
  return math.max(room, nothing_held(account) and 1 or 0)
end

-- Few chunks are worth no trip, unless the limit allows no more.
local function is_worth_a_trip(chunks, chunk)
  return chunks >= math.max(1, math.min(TRIP, math.floor(read_account().limit / chunk / CHUNKS_LEAST)))
end

-- Puts a file behind all others that have changed.
local function note_change(token)
  redis.call('ZADD', FILES, redis.call('HINCRBY', STATE, 'change', 1), token)
end

local function remove_from_account(token)
  set_bytes(token, 0)
  redis.call('HDEL', BYTES, token)
  redis.call('ZREM', FILES, token)
end

-- The keys of a channel stay for a while after its last file.
local function keep_channel(keys, ttl)
  for _, key in ipairs(keys) do
    redis.call('PEXPIRE', key, ttl + CHANNEL_KEPT_MS)
  end
end

-- The channel's first file gives it a name of its own: readers notice when the server forgot all.
local function begin_channel(epoch, limit)
  redis.call('HSETNX', STATE, 'epoch', epoch)
  if limit ~= '' then
    redis.call('HSET', STATE, 'limit', limit)
  end
end

-- The account of a channel: what its files hold, and what they may hold.
-- include: records

local accounts = {}

local OVERHEAD = 1024  -- bytes counted per file, for its record and its entries in indexes
local TRIP = 16        -- chunks: half of what a sender writes in one round trip
local CHUNKS_LEAST = 4 -- the limit has room for this many chunks: chunks are made small enough

-- Returns how many bytes a size counts for. An empty file counts as one byte: else any number of
-- empty files would fit when nothing else is held.
function accounts.bytes_of(size)
  return math.max(size, 1)
end

-- Returns the account: {held, limit}. If the server evicted STATE, the count starts at 0, and goes
-- below 0 when files counted before are removed.
function accounts.read()
  local values = redis.call('HMGET', STATE, 'held', 'limit')
  local held = tonumber(values[1] or 0) or records.damaged()
  local limit = values[2] or TKL__FILES_LIMIT
  return {held = records.whole(math.max(held, 0)), limit = records.whole(limit)}
end

-- Sets the bytes that a file holds.
function accounts.set_bytes(token, bytes)
  local before = records.whole(redis.call('HGET', BYTES, token) or 0)
  redis.call('HSET', BYTES, token, bytes)
  redis.call('HINCRBY', STATE, 'held', bytes - before)
end

-- Returns the bytes that a file in chunks holds: chunks that are stored, and chunks that its sender
-- may write.
function accounts.chunked_bytes(file)
  if file.state == 'complete' then
    local bytes = accounts.bytes_of(records.whole(file.size))
    return OVERHEAD + math.max(0, bytes - file.freed * file.chunk)
  end
  return OVERHEAD + (file.reserved - file.freed) * file.chunk
end

-- Whether the channel holds nothing but the overhead of files.
function accounts.is_empty(account)
  return account.held <= OVERHEAD * redis.call('ZCARD', FILES)
end

-- Whether a new file fits. It always fits when nothing else is held, whatever the limit is: else
-- records of files whose senders were interrupted could block other senders.
function accounts.new_file_fits(bytes)
  local account = accounts.read()
  if redis.call('ZCARD', FILES) == 0 and account.held ~= 0 then -- another program has written it
    account.held = 0
    redis.call('HSET', STATE, 'held', 0)
  end
  return account.held + OVERHEAD + bytes <= account.limit or accounts.is_empty(account)
end

-- Returns how many more chunks may be written: at least one when nothing else is held, whatever the
-- limit is.
function accounts.chunks_that_fit(chunk)
  local account = accounts.read()
  local room = math.floor((account.limit - account.held) / chunk)
  return math.max(room, accounts.is_empty(account) and 1 or 0)
end

-- Whether this many chunks are worth a round trip. A few are not, unless the limit allows no more.
function accounts.is_worth_a_trip(chunks, chunk)
  local allowed = math.floor(accounts.read().limit / chunk / CHUNKS_LEAST)
  return chunks >= math.max(1, math.min(TRIP, allowed))
end

-- Makes a file the one that changed last.
function accounts.note_change(token)
  redis.call('ZADD', FILES, redis.call('HINCRBY', STATE, 'change', 1), token)
end

-- Removes a file from the account and from the list of files.
function accounts.remove(token)
  accounts.set_bytes(token, 0)
  redis.call('HDEL', BYTES, token)
  redis.call('ZREM', FILES, token)
end

-- Keeps keys of a channel for a while after its last file is gone.
function accounts.keep_channel(keys, ttl)
  for _, key in ipairs(keys) do
    redis.call('PEXPIRE', key, ttl + KEPT_MS)
  end
end

-- Creates a channel with its first file and gives it an epoch. Readers notice by the epoch when the
-- server has lost all data.
function accounts.begin_channel(epoch, limit)
  redis.call('HSETNX', STATE, 'epoch', epoch)
  if limit ~= '' then
    redis.call('HSET', STATE, 'limit', limit)
  end
end

-- Indexes: what META says about an index.
-- include: keys
-- include: shared/clock
-- include: shared/decimal

local indexes = {}

-- Reads META. All numbers of documents are below `next`.
function indexes.read()
  local token, version, next_number, docs, words =
    unpack(redis.call('HMGET', META, 'token', 'version', 'next', 'docs', 'words'))
  return {token = token, version = version or '0', next = tonumber(next_number or 0),
          docs = tonumber(docs or 0), words = tonumber(words or 0)}
end

-- Notes that results may have changed: gives the index a new version. It grows, and it is never that of
-- an earlier index of the same name, or of a change that the server has lost: bitmaps and results
-- that are kept bear the version that they are valid for.
function indexes.change()
  local last = tonumber(redis.call('HGET', META, 'version') or 0) or 0
  redis.call('HSET', META, 'version', decimal.whole(math.max(last + 1, clock.us())))
end

-- The mean length of the documents of an index, in words.
function indexes.average_length(index)
  return index.words > 0 and index.words / math.max(1, index.docs) or 1
end

-- Indexes: what META says about an index.
-- include: keys

local indexes = {}

-- Reads META. `version` is the number of changes, as text. All numbers of documents are below
-- `next`.
function indexes.read()
  local token, version, next_number, docs, words =
    unpack(redis.call('HMGET', META, 'token', 'version', 'next', 'docs', 'words'))
  return {token = token, version = version or '0', next = tonumber(next_number or 0),
          docs = tonumber(docs or 0), words = tonumber(words or 0)}
end

-- The mean length of the documents of an index, in words.
function indexes.average_length(index)
  return index.words > 0 and index.words / math.max(1, index.docs) or 1
end

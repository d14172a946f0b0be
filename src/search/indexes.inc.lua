-- Indexes: what META says of one.
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

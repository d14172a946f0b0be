-- Indexes: what META says of one.
-- include: keys

local indexes = {}

-- Reads META. `version` counts changes, as text: of documents, and of the fields by numbers that are
-- not found. Those shift the ranks at which the steps of a query go on. All numbers of documents are
-- below `next`.
function indexes.read()
  local token, version, shifts, next_number, docs, words =
    unpack(redis.call('HMGET', META, 'token', 'version', 'shifts', 'next', 'docs', 'words'))
  return {token = token, version = (version or '0') .. '.' .. (shifts or '0'),
          next = tonumber(next_number or 0), docs = tonumber(docs or 0), words = tonumber(words or 0)}
end

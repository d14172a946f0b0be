-- What META says of an index.
-- include: keys

-- `version` is the number of changes, as text; no document has the number `next` or a greater one.
local function read_index()
  local token, version, next_number, docs, words =
    unpack(redis.call('HMGET', META, 'token', 'version', 'next', 'docs', 'words'))
  return {token = token, version = version or '0', next = tonumber(next_number or 0),
          docs = tonumber(docs or 0), words = tonumber(words or 0)}
end

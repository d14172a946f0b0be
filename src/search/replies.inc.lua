-- Replies: the documents that search/query sends, as many as fit into one reply.
--
-- Matches are {kind, numbers}. `next`, a byte, or `resume` says where the next step goes on;
-- without them these are all. A walk has `members`, `field_key` and `skipped`, too. A list may be a
-- part of the result: `is_part` if all others come behind it by the field, `are_candidates` if no
-- others are wanted.
-- include: keys
-- include: bitmaps
-- include: places
-- include: sets

local replies = {}

-- Bytes of records and terms after which a reply ends: the batch that reaches them is complete.
local MATCH_BYTES = 256 * 1024
local BATCH_LEAST, BATCH_MOST = 8, 256

-- Adds to `values` what a hash has for the numbers [from, to] of a list. Returns the bytes.
function replies.read_values(values, key, numbers, from, to)
  local bytes, part = 0, redis.call('HMGET', key, unpack(numbers, from, to))
  for i = 1, #part do
    values[from + i - 1] = part[i]
    bytes = bytes + (part[i] and #part[i] or 0)
  end
  return bytes
end

-- Reads the records of the documents [from, to] and, if asked for, their terms. Returns the bytes.
function replies.read_batch(matches, from, to, with_forwards)
  local bytes = replies.read_values(matches.records, DOCS, matches.numbers, from, to)
  if with_forwards then
    bytes = bytes + replies.read_values(matches.forwards, FORWARD, matches.numbers, from, to)
  end
  return bytes
end

-- Reads the first documents, as many as fit into a reply. Returns how many were read.
function replies.read_documents(matches, with_forwards)
  local numbers = matches.numbers
  local bytes, done, batch = 0, 0, BATCH_LEAST
  matches.records, matches.forwards = {}, {}
  while done < #numbers and bytes < MATCH_BYTES do
    local last = math.min(done + batch, #numbers)
    bytes = bytes + replies.read_batch(matches, done + 1, last, with_forwards)
    done = last
    local fits = (MATCH_BYTES - bytes) * done / math.max(bytes, 1)
    batch = math.max(BATCH_LEAST, math.min(BATCH_MOST, math.floor(fits)))
  end
  return done
end

-- Leaves out the documents behind the first `count`.
function replies.cut_documents(matches, count)
  for i = #matches.numbers, count + 1, -1 do
    matches.numbers[i] = nil
  end
end

-- Cuts a scan behind its first `count` documents and the others of the last one's byte. The next
-- step goes on with the next byte.
function replies.cut_scan(matches, count, with_forwards)
  local numbers = matches.numbers
  local byte, last = bitmaps.byte_of(numbers[count]), count
  -- At most the 8 numbers of a byte.
  while numbers[last + 1] and bitmaps.byte_of(numbers[last + 1]) == byte do
    last = last + 1
  end
  if last > count then
    replies.read_batch(matches, count + 1, last, with_forwards)
  end
  if last < #numbers then
    matches.next = byte + 1
    replies.cut_documents(matches, last)
  end
end

-- Adds the records of the documents, and their terms. What is too much for one reply is cut, and
-- the next step goes on from there. A list becomes a scan, which sends all documents of the result
-- by their numbers: from the first one on, if the list is a part of them.
function replies.add_documents(matches, version, with_forwards)
  local count = replies.read_documents(matches, with_forwards)
  if count == #matches.numbers then
    return
  elseif matches.kind == 'walk' then
    matches.resume = places.of(matches.field_key, matches.members[count])
    replies.cut_documents(matches, count)
    return
  elseif matches.are_candidates then
    local rest = {unpack(matches.numbers, count + 1)}
    matches.kind, matches.resume = 'more', cmsgpack.pack({version = version, rest = rest})
    replies.cut_documents(matches, count)
    return
  elseif matches.kind == 'list' and matches.is_part then
    matches.kind, matches.next = 'scan', 0
    replies.cut_documents(matches, 0)
    return
  elseif matches.kind == 'list' then
    matches.kind = 'scan'
    matches.numbers = sets.ascending(matches.numbers, 0)
    count = replies.read_documents(matches, with_forwards)
  end
  replies.cut_scan(matches, count, with_forwards)
end

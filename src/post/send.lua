-- post/send: add messages, all or none.
-- KEYS[1] state     hash; see post.c for all of them
-- KEYS[2] messages  stream
-- KEYS[3] marks     list
-- KEYS[4] readers   zset
-- KEYS[5] recent    list
-- ARGV[1] request   random, of this request
-- ARGV[2] again     '1': the request may have been executed already
-- ARGV[3] open      '1': everybody may send; '0': readers only
-- ARGV[4] sender
-- ARGV[5...] letters: the body, the number of words in the headers, and these words
-- returns {code, id of the first}: TKL_NOTFOUND there is no such chat, TKL_NOTOWNER the sender is
--   not a member, TKL_FULL
-- include: clock
local now = server_time()
local STATE, MESSAGES, MARKS, READERS, RECENT = unpack(KEYS)
-- include: codes
-- include: line
-- include: age
-- include: lifetime

local REMEMBERED = 20000 -- requests, for a minute after the last of them
local REMEMBERED_MS = 60000

local function read_letters(sender)
  local letters, bytes, at = {}, 0, 5
  while ARGV[at] do
    local entry, start = {'sender', sender, 'body', ARGV[at]}, bytes
    local header_end = at + 1 + ARGV[at + 1]
    bytes = bytes + #sender + #ARGV[at]
    for i = at + 2, header_end do
      entry[#entry + 1] = ARGV[i]
      bytes = bytes + #ARGV[i]
    end
    letters[#letters + 1] = {entry = entry, start = start}
    at = header_end + 1
  end
  return letters, bytes
end

-- The first message that may stay when these are added; nil: there is no room.
local function make_room(line, count, bytes)
  local young = first_young(line)
  local least = line.sent + bytes - line.max_bytes
  local roomy = first_fitting(line, function(_, start)
    return start >= least
  end)
  roomy = math.max(roomy, line.last + count - line.max_messages + 1)
  local too_large = count > line.max_messages or bytes > line.max_bytes
  if too_large or roomy > young and line.drop_oldest == 0 then
    return nil
  end
  return math.max(roomy, young)
end

local function add(line, letters)
  local marks = {}
  for i, letter in ipairs(letters) do
    redis.call('XADD', MESSAGES, line.last + i, unpack(letter.entry))
    marks[2 * i - 1] = now
    marks[2 * i] = line.sent + letter.start
  end
  redis.call('RPUSH', MARKS, unpack(marks))
end

local request, again, open, sender = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local line = read_line()
local known = again == '1' and redis.call('LPOS', RECENT, request)
if known then
  return {OK, tonumber(redis.call('LINDEX', RECENT, known + 1))}
end
if open == '0' then
  if not line.exists then
    return {NOTFOUND}
  elseif not redis.call('ZSCORE', READERS, sender) then
    return {NOTOWNER}
  end
end
local letters, bytes = read_letters(sender)
local kept_from = make_room(line, #letters, bytes)
if not kept_from then
  return {FULL}
end
redis.call('LLEN', RECENT) -- another type of key is refused before the first write

add(line, letters)
local first = line.last + 1
line.last = line.last + #letters
remove_before(line, kept_from)
redis.call('HSET', STATE, 'last', line.last, 'sent', line.sent + bytes)
if not line.exists then
  redis.call('PERSIST', STATE) -- until now it only told when its owner was seen
end
redis.call('RPUSH', RECENT, request, first)
redis.call('LTRIM', RECENT, -2 * REMEMBERED, -1)
redis.call('PEXPIRE', RECENT, math.min(REMEMBERED_MS, line.ttl))
expire(line)
redis.pcall('SPUBLISH', STATE, '') -- a sender that may not publish wakes nobody, but has sent
return {OK, first}

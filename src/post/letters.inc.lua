-- Letters, which become messages, and the room for them.
-- include: keys
-- include: messages
-- include: ages
-- include: readers

local letters = {}

local NOTE_BYTES = 200 -- longest message to publish; more may pile up for a slow subscriber

-- Reads the letters in a list of words from an index on, at most one for every two words: {sender,
-- body, headers, start}; `start` is the number of bytes of all letters before. Also returns the
-- bytes of all letters.
function letters.read(words, at, sender)
  local all, bytes = {}, 0
  while words[at] do
    local body, header_end = words[at], at + 1 + words[at + 1]
    local letter = {sender = sender, body = body, headers = {unpack(words, at + 2, header_end)},
                    start = bytes}
    bytes = bytes + #sender + #body
    for _, word in ipairs(letter.headers) do
      bytes = bytes + #word
    end
    all[#all + 1] = letter
    at = header_end + 1
  end
  return all, bytes
end

-- Returns the first message that a mailbag must not lose: it is not too old, and a reader has not
-- acknowledged it.
function letters.first_needed(mailbag, young)
  return mailbag.exists and math.max(young, messages.lowest_position() + 1) or young
end

-- Returns the first message to keep when `count` messages are added; nil: there is no room.
function letters.make_room(mailbag, count, bytes)
  local young = ages.first_young(mailbag)
  local least = mailbag.sent + bytes - mailbag.max_bytes
  local roomy = messages.first_fitting(mailbag, function(_, start)
    return start >= least
  end)
  roomy = math.max(roomy, mailbag.last + count - mailbag.max_messages + 1)
  if count > mailbag.max_messages or bytes > mailbag.max_bytes or
     mailbag.drop_oldest == 0 and roomy > young and
     roomy > letters.first_needed(mailbag, young) then
    return nil
  end
  return math.max(roomy, young)
end

-- Stores the letters behind the last message, and removes the messages before `kept_from`. Returns
-- the id of the first. `bytes`: the size of all letters.
function letters.store(mailbag, all, bytes, kept_from)
  local marks, first = {}, mailbag.last + 1
  for i, letter in ipairs(all) do
    redis.call('XADD', MESSAGES, mailbag.last + i, 'sender', letter.sender, 'body', letter.body,
               unpack(letter.headers))
    marks[2 * i - 1] = now
    marks[2 * i] = mailbag.sent + letter.start
  end
  redis.call('RPUSH', MARKS, unpack(marks))
  mailbag.last = mailbag.last + #all
  mailbag.sent = mailbag.sent + bytes
  messages.remove_before(mailbag, kept_from)
  redis.call('HSET', STATE, 'last', mailbag.last, 'sent', mailbag.sent)
  return first
end

-- Publishes a notification for waiters. It has the message if that is alone and small, so that they
-- need no round trip: "<id> <time> <length of each word>\n" and the words: sender, body, headers.
-- When the sender's user may not publish, no waiter wakes up, but the message is sent.
function letters.publish(all, bytes, id)
  local note = ''
  if #all == 1 and bytes <= NOTE_BYTES then
    local letter = all[1]
    local words = {letter.sender, letter.body, unpack(letter.headers)}
    local numbers = {string.format('%d %d', id, now)}
    for i, word in ipairs(words) do
      numbers[i + 1] = #word
    end
    note = table.concat(numbers, ' ') .. '\n' .. table.concat(words)
  end
  redis.pcall('SPUBLISH', STATE, note)
end

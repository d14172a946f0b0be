-- Entries: members of BEST, "prefix NUL tail". A tail is "score key", the score as bytes that sort
-- as the numbers do.
-- include: keys

local entries = {}

local CROWD = 10 -- prefixes with more starts keep their best texts
local SCORE_FORMAT, SCORE_BYTES = '>d', 8 -- format of struct, and its bytes

function entries.tail(score, key)
  return struct.pack(SCORE_FORMAT, score) .. key
end

function entries.member(prefix, score, key)
  return prefix .. '\0' .. entries.tail(score, key)
end

-- The list of all texts of a prefix that no longer prefix keeps. When a prefix is refilled, its
-- next text is there, or in the lists of longer prefixes. No key contains 01 01.
function entries.last_list(prefix)
  return prefix .. '\1\1'
end

function entries.bounds(prefix)
  return '[' .. prefix .. '\0', '(' .. prefix .. '\1'
end

function entries.tail_of(best, prefix)
  return string.sub(best, #(prefix .. '\0') + 1)
end

-- The score in a tail; nil: it was not written by tackle.
function entries.score_in(text)
  return #text >= SCORE_BYTES and struct.unpack(SCORE_FORMAT, text) or nil
end

-- Returns the score, as bytes, and the key.
function entries.split_tail(text)
  return string.sub(text, 1, SCORE_BYTES), string.sub(text, SCORE_BYTES + 1)
end

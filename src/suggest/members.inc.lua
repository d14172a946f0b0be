-- Members of BEST: "prefix NUL tail". A tail is "score key", the score as bytes that sort as the
-- numbers do.
-- include: keys

local CROWD = 10 -- starts; prefixes with more keep their best texts
local SCORE_FORMAT, SCORE_BYTES = '>d', 8 -- of struct

local function tail(score, key)
  return struct.pack(SCORE_FORMAT, score) .. key
end

local function member(prefix, score, key)
  return prefix .. '\0' .. tail(score, key)
end

local function bounds(prefix)
  return '[' .. prefix .. '\0', '(' .. prefix .. '\1'
end

local function tail_of(best, prefix)
  return string.sub(best, #(prefix .. '\0') + 1)
end

-- nil: it was not written by tackle.
local function score_in(text)
  return #text >= SCORE_BYTES and struct.unpack(SCORE_FORMAT, text) or nil
end

-- The score, as bytes, and the key.
local function split_tail(text)
  return string.sub(text, 1, SCORE_BYTES), string.sub(text, SCORE_BYTES + 1)
end

-- The members of a season. Stored scores ascend from the best to the worst: the scores of a board
-- on which higher is better are stored negated. Times are microseconds.
-- include: keys
-- include: shared/clock
-- include: shared/decimal

local board = {}

-- A result: the client asks again, for the server's season.
local ANOTHER_SEASON = TKL__BOARD_ANOTHER_SEASON
-- The form of a stamp, when the score was reached: bytes that sort like the number.
local STAMP, STAMP_SIZE = '>I7', 7
-- The form of a member's value: its stamp and its stored score.
local VALUE = '>I7d'

-- The answer to a client that has other settings, or thinks of another season; nil when both agree.
-- `till` is '0' for a season that the client has chosen.
function board.refusal(now, shape, start, till)
  local stored = redis.call('HGET', SETTINGS, 'shape')
  local now_ms = clock.to_ms(now)
  if stored and stored ~= shape then
    return {TKL_CONFLICT, now_ms, stored}
  end
  if till ~= '0' and (now_ms < tonumber(start) or now_ms >= tonumber(till)) then
    return {ANOTHER_SEASON, now_ms}
  end
end

-- The number of members. Ends the script before it writes if a key is another program's, or if the
-- server has evicted one of the two keys: a member would be ranked twice, or never.
function board.count_members()
  local ranked = redis.call('ZCARD', RANKS)
  if redis.call('HLEN', MEMBERS) ~= ranked then
    error({err = 'DAMAGED the server has lost a part of this board: drop it'})
  end
  return ranked
end

-- The member's stamp and stored score; nil when it is not on the board.
function board.parse(value)
  if not value then
    return nil
  end
  if #value ~= struct.size(VALUE) then
    error({err = 'DAMAGED this member was not written by tackle'})
  end
  local stamp, score = struct.unpack(VALUE, value)
  return stamp, score
end

function board.find(member)
  return board.parse(redis.call('HGET', MEMBERS, member))
end

-- A member as it is stored in RANKS: equal scores are in the order of their stamps.
function board.element(stamp, member)
  return struct.pack(STAMP, stamp) .. member
end

function board.store(member, stamp, score)
  redis.call('ZADD', RANKS, decimal.exact(score), board.element(stamp, member))
  redis.call('HSET', MEMBERS, member, struct.pack(VALUE, stamp, score))
end

-- Adds the elements of these ranks, from 0, and their stored scores to the answer.
function board.append_page(answer, first, last)
  local page = redis.call('ZRANGE', RANKS, decimal.whole(first), decimal.whole(last), 'WITHSCORES')
  for i, text in ipairs(page) do
    answer[#answer + 1] = text
  end
  return answer
end

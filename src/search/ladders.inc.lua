-- Ladders: for both ends of each field, bitmaps of the documents that come first by it, an eighth
-- of all, a sixteenth and so on. The first documents of a result are among the few of it that are
-- on a narrow step, if there are enough of those.
--
-- A step has all documents whose score is at least its threshold (at most, at the other end): all
-- of them, or it is not ready. Thresholds stay while the documents change, until a step is much
-- wider or narrower than it should be; then it is made again (search/ladder).

local ladders = {}

local LADDER_STEPS = TKL__SEARCH_STEPS -- 1/8, 1/16 ... 1/1024 of the documents
local LADDER_FIRST = 8   -- the first step is the widest: it has one in this many documents
local LADDER_LEAST = 512 -- an index with fewer documents has no ladders
local LADDER_SLACK = 2   -- a step that is this many times too wide or too narrow is made again

-- A step's place in :ladder: "field end step".
function ladders.step_name(field, side, step)
  return field .. side .. step
end

-- The share of all documents that a step should contain.
function ladders.step_share(step)
  return 1 / (LADDER_FIRST * 2 ^ (step - 1))
end

-- The rank of the last document of a step in the sorted set; nil: the step would be empty.
function ladders.step_place(step, side, present)
  local wide = math.floor(present * ladders.step_share(step))
  if wide < 1 then
    return nil
  end
  return side == 'top' and present - wide or wide - 1
end

-- The bounds of a step for ZCOUNT and ZRANGE BYSCORE.
function ladders.step_bounds(threshold, side)
  if side == 'top' then
    return threshold, '(inf'
  end
  return '-inf', threshold
end

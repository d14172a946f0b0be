-- Ladders: for both ends of each field, bitmaps of the documents that come first by it, an eighth of
-- all, a sixteenth and so on. Whatever is among the first of a result is among the few of it that
-- are on a narrow step, if there are enough of them.
--
-- A step has all documents whose score is at least its threshold (at most, at the other end): all
-- of them, or it is not ready. Thresholds stay while the documents change, until a step is much
-- wider or narrower than it should be; then it is made anew (search/ladder).

local LADDER_STEPS = 8    -- 1/8, 1/16 ... 1/1024 of the documents
local LADDER_FIRST = 8    -- the first is the widest: one of so many documents
local LADDER_LEAST = 512  -- documents of an index that has ladders
local LADDER_SLACK = 2    -- a step so many times too wide or too narrow is made anew

-- A step's place in :ladder: "field end step".
local function step_name(field, side, step)
  return field .. side .. step
end

local function step_share(step)
  return 1 / (LADDER_FIRST * 2 ^ (step - 1))
end

-- Where the last document of a step is in the sorted set; nil: the step would be empty.
local function step_place(step, side, present)
  local wide = math.floor(present * step_share(step))
  if wide < 1 then
    return nil
  end
  return side == 'top' and present - wide or wide - 1
end

-- The bounds of a step for ZCOUNT and ZRANGE BYSCORE.
local function step_bounds(threshold, side)
  if side == 'top' then
    return threshold, '(inf'
  end
  return '-inf', threshold
end

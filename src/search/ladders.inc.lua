-- Ladders: bitmaps of the documents by a field.
--
-- Each end of a field has steps. A step has the documents that come first by the field: an eighth
-- of all, a sixteenth and so on. When enough documents of a result are on a narrow step, the first
-- ones of the result are among these.
--
-- A large numeric field also has rungs. A rung has the documents from a value on; there is a rung
-- for about each twentieth of all documents. One command finds all documents between two rungs, so
-- a range reads only the documents between its ends and the nearest rungs.
--
-- A step has all documents whose score is at least its threshold (at most, at the low end), or it
-- is not ready. Thresholds stay while the documents change, until a step is much wider or narrower
-- than it should be. Then a writer makes it again (search/ladder). Rungs come where they are too
-- far from each other, and go where they are too near.
-- include: keys

local ladders = {}

local LADDER_STEPS = TKL__SEARCH_STEPS -- 1/8, 1/16 ... 1/1024 of the documents
local LADDER_RUNGS = TKL__SEARCH_RUNGS
local FIELD_STEPS = 2 * LADDER_STEPS + LADDER_RUNGS -- keys of a field
local LADDER_FIRST = 8   -- the first step, the widest, has one in this many documents
local LADDER_LEAST = 512 -- an index with fewer documents has no ladders
local LADDER_SLACK = 2   -- a step that is this many times too wide or too narrow is made again

-- The name of a step in :ladder: "field end step". The end is 'top', 'low' or 'rung'.
function ladders.step_name(field, side, step)
  return field .. side .. step
end

-- The share of all documents that a step should contain.
function ladders.step_share(step)
  return 1 / (LADDER_FIRST * 2 ^ (step - 1))
end

-- The rank of the last document of a step in the sorted set; nil: the step would be empty.
function ladders.step_rank(step, side, present)
  local wide = math.floor(present * ladders.step_share(step))
  if wide < 1 then
    return nil
  end
  return side == 'top' and present - wide or wide - 1
end

-- The bounds of a step or a rung for ZCOUNT and ZRANGE BYSCORE.
function ladders.step_bounds(threshold, side)
  if side == 'low' then
    return '-inf', threshold
  end
  return threshold, '(inf'
end

-- How many documents are on a step or a rung.
function ladders.count(field_key, threshold, side)
  return redis.call('ZCOUNT', field_key, ladders.step_bounds(threshold, side))
end

-- The rungs of a field, the lowest first: {step, threshold, value, ready}. `all`: :ladder as a
-- table.
function ladders.rungs_of(all, field)
  local rungs = {}
  for step = 1, LADDER_RUNGS do
    local name = ladders.step_name(field, 'rung', step)
    if all[name] then
      rungs[#rungs + 1] = {step = step, threshold = all[name], value = tonumber(all[name]),
                           ready = all[name .. 'ready'] ~= nil}
    end
  end
  table.sort(rungs, function(a, b) return a.value < b.value end)
  return rungs
end

-- :ladder as a table.
function ladders.read_all()
  local list, all = redis.call('HGETALL', LADDER), {}
  for i = 1, #list, 2 do
    all[list[i]] = list[i + 1]
  end
  return all
end

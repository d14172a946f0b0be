-- limit/slice: settle a slice of the budget, and take the next one.
-- KEYS[1] state
-- ARGV[1] kind      gcra or bucket
-- ARGV[2] capacity  see limit/check
-- ARGV[3] unit      ditto
-- ARGV[4] rate      ditto
-- ARGV[5] epoch     of the slice to settle; -1: none
-- ARGV[6] slice     size of that slice
-- ARGV[7] spent     how much of it was spent
-- ARGV[8] wish      size of the next slice
-- ARGV[9] least     the smallest useful size; 0: no slice is wanted
-- ARGV[10] rule     see limit/check
-- returns {slice or 0, its epoch, microseconds that it lasts, microseconds until the least would
--   fit, microseconds until all is unused}
-- include: shared/clock
-- include: debts

now = clock.us()
local key, kind = KEYS[1], ARGV[1]
local capacity, unit, rate = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local old = {epoch = tonumber(ARGV[5]), size = tonumber(ARGV[6]), spent = tonumber(ARGV[7])}
local wish, least = tonumber(ARGV[8]), tonumber(ARGV[9])

local state = debts.read(key, kind, unit, rate)
state.rule = ARGV[10]

-- Settles the old slice: gives it back, and adds the part that was spent to the debt. A slice of an
-- epoch that is over already counts as spent.
local function settle()
  if old.epoch == state.epoch and old.size <= state.latest then
    state.latest = state.latest - old.size
  elseif old.epoch == state.epoch - 1 and old.size <= state.before then
    state.before = state.before - old.size
  else
    return
  end
  state.debt = state.debt + old.spent * unit
end

-- Lends half of the room, so that other clients find some, too. Returns the size of the slice.
local function lend()
  local room = funnel.room_for(debts.owed(state), capacity * unit, unit)
  if least == 0 or room < least then
    return 0
  end
  local slice = math.min(wish, math.max(least, math.ceil(room / 2)))
  state.latest = state.latest + slice
  return slice
end

settle()
local slice = lend()
debts.write(key, state)
return {slice, state.epoch, (state.epoch + 2) * EPOCH - now,
        math.min(debts.time_until(state, math.max(0, capacity - least) * unit), EXACT),
        math.min(debts.time_until(state, 0), EXACT)}

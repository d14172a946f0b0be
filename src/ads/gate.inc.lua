-- Gates: ads that require something of the viewer are kept apart in the index, so that a page does
-- not walk over those that its viewer does not meet. A gate is a text of kinds and values; an ad has
-- one for each combination of the values that it accepts. Where these would be too many, some kinds
-- are left out of the gate, and are checked ad by ad as all are.
-- include: index

local GATE_KINDS = 3   -- of one ad
local GATES_MAX = 16   -- combinations of one ad
local OWN_MEMBERS = 64 -- of one ad at most: locations times gates
local KIND_SETS = 16   -- sets of kinds in use

-- Which needs make the gate: those with the fewest values first. A set of their numbers.
local function choose_needs(locations, needs)
  local most = math.min(GATES_MAX, math.floor(OWN_MEMBERS / #locations))
  local chosen, kinds, gates = {}, 0, 1
  for values = 1, most do
    for i, need in ipairs(needs) do
      if #need - 1 == values and gates * values <= most and kinds < GATE_KINDS then
        chosen[i] = true
        kinds, gates = kinds + 1, gates * values
      end
    end
  end
  return chosen
end

local function gate_item(kind, value)
  return kind .. '=' .. value .. '\1'
end

-- All texts that are one of `gates` with one value of the need behind it.
local function with_need(gates, need)
  local longer = {}
  for _, gate in ipairs(gates) do
    for i = 2, #need do
      longer[#longer + 1] = gate .. gate_item(need[1], need[i])
    end
  end
  return longer
end

-- Counts an ad that is kept apart by these kinds. `again`: it was before. Where the number was lost,
-- it is set to at least what it can be: a gate too many does no harm, one that is missing hides ads.
local function enter_kinds(kinds, again)
  if kinds == '' then
    return
  end
  if not again then
    increase(GATES, kinds, 1)
  elseif redis.call('HEXISTS', GATES, kinds) == 0 then
    redis.call('HSET', GATES, kinds, redis.call('HLEN', ADS))
  end
end

local function leave_kinds(kinds)
  if kinds ~= '' and increase(GATES, kinds, -1) <= 0 then
    redis.call('HDEL', GATES, kinds)
  end
end

-- The kinds that make the gate of an ad, as one text, and its gates. Needs are sorted by kind.
local function gates_for(locations, needs)
  local chosen = choose_needs(locations, needs)
  local kinds, gates = '', {''}
  for i, need in ipairs(needs) do
    if chosen[i] then
      kinds = kinds .. need[1] .. '\0'
      gates = with_need(gates, need)
    end
  end
  if kinds ~= '' and redis.call('HEXISTS', GATES, kinds) == 0
      and redis.call('HLEN', GATES) >= KIND_SETS then
    return '', {''}
  end
  return kinds, gates
end

-- The gates that a viewer passes, {kind = value}.
local function gates_of_viewer(viewer)
  local gates = {''}
  for _, kinds in ipairs(redis.call('HKEYS', GATES)) do
    local gate = ''
    for kind in string.gmatch(kinds, '([^%z]+)%z') do
      gate = gate and viewer[kind] and gate .. gate_item(kind, viewer[kind])
    end
    if gate and gate ~= '' then
      gates[#gates + 1] = gate
    end
  end
  return gates
end

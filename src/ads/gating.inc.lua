-- Gates: ads that require something of the viewer are kept apart in the index, so that a page does
-- not walk over ads that its viewer does not meet. A gate is a text of kinds and values; an ad has
-- one gate for each combination of the values that it accepts. Where these would be too many, some
-- kinds are left out of the gates. All kinds are checked for each ad in any case.
-- include: index

local gating = {}

local GATE_KINDS = 3   -- most kinds in the gates of one ad
local GATES_MAX = 16   -- most combinations of one ad
local OWN_MEMBERS = 64 -- most members of one ad: locations times gates
local KIND_SETS = 16   -- most sets of kinds in use

-- Chooses the needs that form the gate: needs with few values first. Returns a set of their
-- indexes.
function gating.choose_needs(locations, needs)
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

-- A kind with a value, as a part of a gate.
function gating.item(kind, value)
  return kind .. '=' .. value .. '\1'
end

-- All combinations of one of the `gates` with one value of the need, as texts.
function gating.with_need(gates, need)
  local longer = {}
  for _, gate in ipairs(gates) do
    for i = 2, #need do
      longer[#longer + 1] = gate .. gating.item(need[1], need[i])
    end
  end
  return longer
end

-- Counts an ad that these kinds keep apart. `again`: it was counted before. If the number was lost,
-- it is set to at least its true value: a surplus gate does no harm, but a missing one hides ads.
function gating.enter_kinds(kinds, again)
  if kinds == '' then
    return
  end
  if not again then
    records.increase(GATES, kinds, 1)
  elseif redis.call('HEXISTS', GATES, kinds) == 0 then
    redis.call('HSET', GATES, kinds, redis.call('HLEN', ADS))
  end
end

-- Removes an ad that these kinds kept apart from the count.
function gating.leave_kinds(kinds)
  if kinds ~= '' and records.increase(GATES, kinds, -1) <= 0 then
    redis.call('HDEL', GATES, kinds)
  end
end

-- The kinds that form the gate of an ad, as one text, and its gates. Needs are sorted by kind.
function gating.names_for(locations, needs)
  local chosen = gating.choose_needs(locations, needs)
  local kinds, gates = '', {''}
  for i, need in ipairs(needs) do
    if chosen[i] then
      kinds = kinds .. need[1] .. '\0'
      gates = gating.with_need(gates, need)
    end
  end
  if kinds ~= '' and redis.call('HEXISTS', GATES, kinds) == 0
      and redis.call('HLEN', GATES) >= KIND_SETS then
    return '', {''}
  end
  return kinds, gates
end

-- The gates that a viewer ({kind = value}) passes.
function gating.of_viewer(viewer)
  local gates = {''}
  for _, kinds in ipairs(redis.call('HKEYS', GATES)) do
    local gate = ''
    for kind in string.gmatch(kinds, '([^%z]+)%z') do
      gate = gate and viewer[kind] and gate .. gating.item(kind, viewer[kind])
    end
    if gate and gate ~= '' then
      gates[#gates + 1] = gate
    end
  end
  return gates
end

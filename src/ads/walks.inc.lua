-- Finding the best ad for a page without looking at every ad: the lists of the index that concern
-- the page are walked together, from the greatest value down. An ad that was not met yet has a rank
-- of at most the greatest value that is left, so the walk ends when the rank of the best ad so far
-- is not below that.
-- include: gating
-- include: pages

local walks = {}

local MANY = 64             -- most members that are fetched at once, after 1, 4 and 16 ...
local GROWTH = 4            -- ... each fetch gets this many times more
local FIELDS = 1000         -- most fields of one HMGET
local PIECE = 16            -- bytes that are compared at once
local WORK = 4500           -- work of one step: about a millisecond
local WORK_OF_AD, WORK_OF_ITEM, WORK_OF_PASS, WORK_OF_FETCH = 20, 3, 15, 30
local BYTES_OF_WORK = 50    -- bytes that count as one unit: an ad with long names is more to read

-- The beginnings of all lists that concern a page.
function walks.starts_for(page)
  local starts = {}
  local gates = gating.of_viewer(page.viewer)
  for _, location in ipairs(page.locations) do
    for _, gate in ipairs(gates) do
      starts[#starts + 1] = 'l' .. location .. '\0' .. gate .. '\0'
    end
    for _, word in ipairs(page.words) do
      starts[#starts + 1] = 'w' .. word .. '\0' .. location .. '\0'
    end
  end
  return starts
end

-- Moves to the next member of a list. A new list begins below `cursor` (value and ad; '': at the
-- top). False: there are no more members.
function walks.advance(list, cursor)
  if not list.at or list.at == list.count then
    local rest = list.rest or cursor
    local from = rest == '' and index.above(list.start) or list.start .. rest
    list.count = list.count and math.min(MANY, GROWTH * list.count) or 1
    list.members = redis.call('ZRANGE', INDEX, '(' .. from, '[' .. list.start, 'BYLEX', 'REV',
      'LIMIT', 0, list.count)
    list.at = 0
  end
  list.at = list.at + 1
  local member = list.members[list.at]
  if not member then
    return false
  end
  list.rest = string.sub(member, #list.start + 1)
  list.value = index.value_of(member, list.start)
  return true
end

-- Whether the ad of a member comes after another in the order of bytes; `<` would depend on the
-- server's locale. Equal beginnings are skipped in pieces.
function walks.is_behind(a, b)
  local from = VALUE_BYTES + 1
  -- At most the length of a name.
  while from <= #a
      and string.sub(a, from, from + PIECE - 1) == string.sub(b, from, from + PIECE - 1) do
    from = from + PIECE
  end
  for i = from, math.min(#a, #b, from + PIECE - 1) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then
      return x > y
    end
  end
  return #a > #b
end

-- Whether the next member of a list comes before that of another. The ad is not known for a list
-- that is not open yet.
function walks.is_before(a, b)
  if a.value ~= b.value then
    return a.value > b.value
  end
  return a.rest and b.rest and a.rest ~= b.rest and walks.is_behind(a.rest, b.rest)
end

-- Lists are kept as a heap: the first one has the greatest member, and the one at `i` is not before
-- the one at `i / 2`.

-- Moves the list at this index down to its place in the heap. At most eleven rounds for the lists
-- of the largest page.
function walks.sink(heap, at)
  local list, count = heap[at], #heap
  local child = 2 * at
  while child <= count do
    if child < count and walks.is_before(heap[child + 1], heap[child]) then
      child = child + 1
    end
    if not walks.is_before(heap[child], list) then
      break
    end
    heap[at] = heap[child]
    at, child = child, 2 * child
  end
  heap[at] = list
end

-- Adds a list to the heap, in at most eleven rounds, too.
function walks.push(heap, list)
  local at = #heap + 1
  local parent = math.floor(at / 2)
  while parent > 0 and walks.is_before(list, heap[parent]) do
    heap[at] = heap[parent]
    at, parent = parent, math.floor(parent / 2)
  end
  heap[at] = list
end

-- Removes the first list from the heap.
function walks.pop(heap)
  local first, last = heap[1], table.remove(heap)
  if last ~= first then
    heap[1] = last
    walks.sink(heap, 1)
  end
  return first
end

-- The lists of a page that are not empty, as a heap of {start, value}: no member of a list is above
-- its value. `below`: where the steps before have stopped.
function walks.waiting_lists(page, below)
  local starts, lists = walks.starts_for(page), {}
  for from = 1, #starts, FIELDS do
    local to = math.min(from + FIELDS - 1, #starts)
    local heads = redis.call('HMGET', HEADS, unpack(starts, from, to))
    for i = from, to do
      local head = tonumber(heads[i - from + 1] or nil)
      if head then
        walks.push(lists, {start = starts[i], value = math.min(head, below)})
      end
    end
  end
  return lists
end

-- Opens the lists that may have the greatest member, except lists that cannot beat the best ad.
-- Returns the work done. At most one round for each list of the page.
function walks.open_lists(state)
  local work = 0
  while state.waiting[1] do
    local value, top = state.waiting[1].value, state.open[1]
    if top and top.value > value or state.best and state.best.rank >= value then
      return work
    end
    local list = walks.pop(state.waiting)
    if walks.advance(list, state.cursor) then
      walks.push(state.open, list)
    end
    work = work + WORK_OF_FETCH
  end
  return work
end

-- Compares an ad with the best one. Returns the work done.
function walks.try(state, page, ad)
  local values = records.read_values(ad)
  state.looked = state.looked + 1
  if not pages.first_unmet(values.needs, page.viewer) then
    local found = pages.score_of(values, page)
    if not state.best or found.rank > state.best.rank then
      found.ad = ad
      state.best = found
    end
  end
  return WORK_OF_AD + WORK_OF_ITEM * values.items + values.size / BYTES_OF_WORK
end

-- Moves past the greatest member. Returns the work done.
function walks.pass(state)
  local top = state.open[1]
  if walks.advance(top) then
    walks.sink(state.open, 1)
  else
    walks.pop(state.open)
  end
  local work = top.at == 1 and WORK_OF_PASS + WORK_OF_FETCH or WORK_OF_PASS
  return work + walks.open_lists(state)
end

-- Continues the walk from the state {best, cursor}. True: state.best is the best ad of all, or nil.
-- False: the next step continues from the state. state.looked: number of ads examined.
function walks.best(page, state)
  local below = state.cursor == '' and math.huge or (struct.unpack(VALUE_FORMAT, state.cursor))
  local met, started = {}, state.cursor
  state.waiting, state.open, state.looked = walks.waiting_lists(page, below), {}, 0
  walks.open_lists(state) -- every step must do this; it does not count as work on ads
  local work, top = 0, state.open[1]
  -- At most WORK, and one ad more.
  while top and not (state.best and state.best.rank >= top.value) do
    if work > WORK and state.cursor ~= started then
      return false
    end
    local ad = index.ad_of(top.rest)
    state.cursor = top.rest
    if not met[ad] then
      met[ad] = true
      work = work + walks.try(state, page, ad)
    end
    work = work + walks.pass(state)
    top = state.open[1]
  end
  return true
end

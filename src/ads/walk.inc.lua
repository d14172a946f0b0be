-- The best ad for a page, without looking at every ad: the lists of the index that concern the page
-- are walked together, from the greatest value down. An ad that was not met yet has a score of at
-- most the greatest value that is left, so the walk ends when the best so far is not below that.
-- include: gate
-- include: page

local MANY = 64             -- members that are fetched at once, after 1, 4 and 16
local FIELDS = 1000         -- of one HMGET
local WORK = 12000          -- of one step: about three milliseconds
local WORK_OF_AD, WORK_OF_ITEM, WORK_OF_FETCH = 20, 3, 30

-- The beginnings of all lists that concern a page.
local function lists_of(page)
  local starts = {}
  local gates = gates_of_viewer(page.viewer)
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

-- Those that are not empty, {start, value}: nothing in a list is above its value. `below`: where
-- the steps before have stopped.
local function waiting_lists(page, below)
  local starts, lists = lists_of(page), {}
  for from = 1, #starts, FIELDS do
    local to = math.min(from + FIELDS - 1, #starts)
    local heads = redis.call('HMGET', HEADS, unpack(starts, from, to))
    for i = from, to do
      local head = tonumber(heads[i - from + 1] or nil)
      if head then
        lists[#lists + 1] = {start = starts[i], value = math.min(head, below)}
      end
    end
  end
  return lists
end

-- Goes on to the next member of a list, below `cursor` (value and ad; '' for all) when it is new.
-- False: there is none.
local function advance(list, cursor)
  if not list.at or list.at == list.count then
    local rest = list.rest or cursor
    local from = rest == '' and string.sub(list.start, 1, -2) .. '\1' or list.start .. rest
    list.count = math.min(MANY, 4 * (list.count or 0.25))
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
  list.value = struct.unpack('>d', list.rest)
  return true
end

-- Whether a text is behind another in the order of bytes; `<` would ask the server's locale.
local function is_behind(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then
      return x > y
    end
  end
  return #a > #b
end

-- The number of the list whose next member is the greatest, nil: there are none.
local function greatest(lists)
  local at
  for i, list in ipairs(lists) do
    local top = lists[at]
    if not top or list.value > top.value or list.value == top.value and list.rest
        and list.rest ~= top.rest and is_behind(list.rest, top.rest) then
      at = i
    end
  end
  return at
end

-- Opens the lists that may have the greatest member, but none that cannot be better than the best.
-- Returns the work it was. At most one round for each list of the page.
local function open_lists(state)
  local work = 0
  local at = greatest(state.waiting)
  while at do
    local value = state.waiting[at].value
    local top = state.open[greatest(state.open)]
    if top and top.value > value or state.best and state.best.score >= value then
      return work
    end
    local list = table.remove(state.waiting, at)
    if advance(list, state.cursor) then
      state.open[#state.open + 1] = list
    end
    work = work + WORK_OF_FETCH + #state.waiting / 3
    at = greatest(state.waiting)
  end
  return work
end

-- Looks at an ad. Returns the work it was.
local function try(state, page, ad)
  local values = read_values(ad)
  state.looked = state.looked + 1
  if not first_unmet(values.needs, page.viewer) then
    local found = score_of(values, page)
    if not state.best or found.score > state.best.score then
      found.ad = ad
      state.best = found
    end
  end
  return WORK_OF_AD + WORK_OF_ITEM * values.items
end

-- Walks on from the state {best, cursor}. True: state.best is the best of all, or there is none;
-- else the next step goes on from the state. state.looked: ads that were looked at.
local function walk(page, state)
  local below = state.cursor == '' and math.huge or (struct.unpack('>d', state.cursor))
  local met, started = {}, state.cursor
  state.waiting, state.open, state.looked = waiting_lists(page, below), {}, 0
  local work = open_lists(state) + #state.waiting
  local at = greatest(state.open)
  -- At most WORK, and one ad more.
  while at and not (state.best and state.best.score >= state.open[at].value) do
    if work > WORK and state.cursor ~= started then
      return false
    end
    local top = state.open[at]
    local ad = string.sub(top.rest, 9)
    state.cursor = top.rest
    if not met[ad] then
      met[ad] = true
      work = work + try(state, page, ad)
    end
    if not advance(top) then
      table.remove(state.open, at)
    end
    work = work + 1 + open_lists(state) + #state.open / 3
    at = greatest(state.open)
  end
  return true
end

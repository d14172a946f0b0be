-- The best ad for a page, without looking at every ad: the lists of the index that concern the page
-- are walked together, from the greatest value down. An ad that was not met yet has a score of at
-- most the greatest value that is left, so the walk ends when the best so far is not below that.
-- include: gate
-- include: page

local FEW, MANY = 4, 64     -- members that are fetched at first, and then
local WORK = 12000          -- of one step: about three milliseconds
local WORK_OF_AD, WORK_OF_WORD, WORK_OF_LIST = 20, 2, 12
local LISTS_OF_WORDS = 500  -- in one step; more words are the next step's

-- A list is all members with one beginning. Those below `cursor` (value and ad; '' for all).
local function fetch(list, cursor, count)
  local from = cursor == '' and '(' .. string.sub(list.start, 1, -2) .. '\1'
    or '(' .. list.start .. cursor
  list.members = redis.call('ZRANGE', INDEX, from, '[' .. list.start, 'BYLEX', 'REV',
    'LIMIT', 0, count)
  list.count, list.at = count, 0
end

-- Goes on to the next member. False: there is none.
local function advance(list)
  if list.at == list.count then
    fetch(list, list.rest, MANY)
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

local function open_list(lists, start, cursor)
  local list = {start = start}
  fetch(list, cursor, FEW)
  if advance(list) then
    lists[#lists + 1] = list
  end
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

-- The list whose next member is the greatest, and its number.
local function greatest(lists)
  local top, at
  for i, list in ipairs(lists) do
    if not top or list.value > top.value
        or list.value == top.value and list.rest ~= top.rest and is_behind(list.rest, top.rest) then
      top, at = list, i
    end
  end
  return top, at
end

-- Words of the page that have lists; those behind the first `skip`.
local function words_with_lists(page, skip, most)
  local found = {}
  if #page.words == 0 then
    return found, false
  end
  local uses = redis.call('HMGET', USED, unpack(page.words))
  local seen = 0
  for i, word in ipairs(page.words) do
    if uses[i] then
      seen = seen + 1
      if seen > skip + most then
        return found, true
      elseif seen > skip then
        found[#found + 1] = word
      end
    end
  end
  return found, false
end

-- The lists of this step that are not empty, whether there are more words, and the work it was.
local function open_lists(page, state)
  local lists, opened = {}, 0
  local function open(start)
    open_list(lists, start, state.cursor)
    opened = opened + 1
  end
  for _, location in ipairs(page.locations) do
    for _, gate in ipairs(state.skip == 0 and gates_of_viewer(page.viewer) or {}) do
      open('l' .. location .. '\0' .. gate .. '\0')
    end
  end
  state.most = math.floor(LISTS_OF_WORDS / math.max(1, #page.locations))
  local words, more = words_with_lists(page, state.skip, state.most)
  for _, word in ipairs(words) do
    for _, location in ipairs(page.locations) do
      open('w' .. word .. '\0' .. location .. '\0')
    end
  end
  return lists, more, opened * WORK_OF_LIST
end

-- Looks at an ad. Returns the work it was.
local function try(state, page, ad)
  local values = read_values(ad)
  if not first_unmet(values.needs, page.viewer) then
    local found = score_of(values, page)
    if not state.best or found.score > state.best.score then
      found.ad = ad
      state.best = found
    end
  end
  return WORK_OF_AD + WORK_OF_WORD * #values.words
end

-- Walks on from the state {best, cursor, skip}. True: state.best is the best of all, or there is
-- none; else the next step goes on from the state. state.looked: ads that were looked at.
local function walk(page, state)
  local lists, more, work = open_lists(page, state)
  local met = {}
  local top, at = greatest(lists)
  while top and not (state.best and state.best.score >= top.value) do
    if work > WORK and state.looked > 0 then
      return false
    end
    local ad = string.sub(top.rest, 9)
    state.cursor = top.rest
    if not met[ad] then
      met[ad] = true
      state.looked = state.looked + 1
      work = work + try(state, page, ad)
    end
    work = work + 1 + #lists / 3
    if not advance(top) then
      table.remove(lists, at)
    end
    top, at = greatest(lists)
  end
  state.cursor, state.skip = '', state.skip + state.most
  return not more
end

-- The best documents of a result by relevance, without a look at all of them.
--
-- The relevance that a word adds to a document depends on how often the document has the word and
-- on its length. Writers post each document under its band of lengths, and under each word that it
-- has at least 2, 4 or 8 times. A cell is a band together with one of these classes for each word.
-- It bounds the relevance of its documents from both sides. The cells are visited from the highest
-- bound down, until enough documents are certain to be better than all that is left.
-- include: keys
-- include: banding
-- include: sets
-- include: shared/clock

local bests = {}

local SLACK = 1e-9 -- relative error of the bounds of a band
local K1, B = 1.2, 0.75 -- parameters of BM25
local BAND_LIST = 256 -- a band with at most this many documents of the result is read once
local CELL_PART = 600 -- documents of a cell that are read at once
local FOUND_MOST = 1000 -- documents found, from which those that cannot be among the best are dropped
local VISIT_MOST = 2000 -- documents that are left then; with more the result is compared as a whole
local CELLS_MOST = 600 -- cells; with more words there are fewer classes of each
local LOOKED_MOST = 200 -- cells whose documents are looked up by combining bitmaps
local LENGTH_BYTES = 512 * 1024 -- bytes of records that are read for the lengths in them
local LENGTHS_AT_ONCE = 100

-- The relevance that one word adds for each unit of its weight.
function bests.impact(times, length, average)
  return times * (K1 + 1) / (times + K1 * (1 - B + B * length / average))
end

-- The bands that have documents: {band, shortest, longest}.
function bests.bands_in_use(bands)
  local used = {}
  for band = 1, LENGTH_BANDS do
    if bands[band].size > 0 then
      used[#used + 1] = {band = band,
                         shortest = 2 ^ ((band - 1) / BANDS_PER_OCTAVE) * (1 - SLACK),
                         longest = band == LENGTH_BANDS and math.huge
                           or 2 ^ (band / BANDS_PER_OCTAVE) * (1 + SLACK)}
    end
  end
  return used
end

-- Adds the bounds of a class: its word adds to the relevance of a document in the i-th of the bands
-- at least class.least[i], and at most class.most[i], which is false when no document of the band
-- is long enough to have the word so often.
function bests.bound_class(class, weight, used_bands, average)
  class.least, class.most = {}, {}
  for i, band in ipairs(used_bands) do
    local times = math.min(class.high, band.longest)
    if class.high == 0 then
      class.least[i], class.most[i] = 0, 0
    elseif class.low > band.longest then
      class.least[i], class.most[i] = 0, false
    else
      class.least[i] = band.longest == math.huge and 0
        or weight * bests.impact(class.low, band.longest, average)
      class.most[i] = weight * (times == math.huge and K1 + 1
                                or bests.impact(times, band.shortest, average))
    end
  end
end

-- The classes of a word above the first, at most `most`: the coarse ones if the word has more.
function bests.several_of(word, most)
  local some = {}
  for _, class in ipairs(word.several) do
    if #some < most and (#word.several <= most or class.is_coarse) then
      some[#some + 1] = class
    end
  end
  return some
end

-- The classes of a word that have documents: {low, high, operand, least, most}. A document of the
-- class has the word `low` to `high` times. `several`: how many classes there are above the first,
-- at most. A word that is not required also has a class for its absence.
function bests.classes_of(word, several, used_bands, average)
  local classes = {{low = 1, operand = not word.required and word.operand}}
  for i, class in ipairs(bests.several_of(word, several)) do
    classes[i].high = class.low - 1
    classes[i + 1] = {low = class.low, operand = class.operand}
  end
  classes[#classes].high = word.times_max
  if not word.required then
    table.insert(classes, 1, {low = 0, high = 0})
  end
  local used = {}
  for _, class in ipairs(classes) do
    if not (class.operand and class.operand.size == 0) then
      bests.bound_class(class, word.weight, used_bands, average)
      used[#used + 1] = class
    end
  end
  return used
end

-- How many classes each word has above the first, so that there are at most CELLS_MOST cells.
function bests.classes_for(words, used_bands)
  local several, cells = 1, math.huge
  for _, word in ipairs(words) do
    several = math.max(several, #word.several + 1)
  end
  while several > 0 and cells > CELLS_MOST do
    several, cells = several - 1, #used_bands
    for _, word in ipairs(words) do
      cells = cells * (#bests.several_of(word, several) + (word.required and 1 or 2))
    end
  end
  return several
end

-- Calls visit(classes) for each combination of one class for each word.
function bests.each_combination(words, used_bands, average, visit)
  local several, classes = bests.classes_for(words, used_bands), {}
  for i, word in ipairs(words) do
    classes[i] = bests.classes_of(word, several, used_bands, average)
  end
  local chosen = {}
  local function choose(i)
    if i > #words then
      visit({unpack(chosen)})
      return
    end
    for _, class in ipairs(classes[i]) do
      chosen[i] = class
      choose(i + 1)
    end
  end
  choose(1)
end

-- The cells of all bands: {low, high, band, operands, classes, index}. A document of a cell has a
-- relevance of at least `low`, and of at most `high` unless a higher cell of the band has it, too.
function bests.cells_of(words, bands, average)
  local cells, used_bands = {}, bests.bands_in_use(bands)
  bests.each_combination(words, used_bands, average, function(classes)
    local operands = {}
    for _, class in ipairs(classes) do
      operands[#operands + 1] = class.operand or nil
    end
    for i, band in ipairs(used_bands) do
      local low, high = 0, 0
      for _, class in ipairs(classes) do
        low = low + class.least[i]
        high = class.most[i] and high and high + class.most[i]
      end
      if high and high > 0 then
        cells[#cells + 1] = {low = low, high = high, band = band.band, operands = operands,
                             classes = classes, index = #cells + 1}
      end
    end
  end)
  return cells
end

-- The cells, the highest bounds first. Of all cells that a document is in, the one with its own
-- classes comes first.
function bests.sorted(cells)
  local sorted = {unpack(cells)} -- at most CELLS_MOST
  table.sort(sorted, function(a, b)
    return a.high > b.high or (a.high == b.high and a.index < b.index)
  end)
  return sorted
end

-- The intersection of operands as an array, or a part of it: of a bitmap about `most` numbers from
-- byte `from` on. Returns the byte to go on with, too; nil at the end.
function bests.intersect(operands, from, most, scratch, next)
  table.sort(operands, sets.by_size)
  for _, operand in ipairs(operands) do
    if not operand.bits then
      return sets.and_lists(operands, {}, scratch).list
    end
  end
  local common = sets.and_bits(operands, {}, scratch, scratch, next)
  if common.size == 0 then
    return {}
  end
  return sets.read_bits(common.key, common.size, from, math.min(most, common.size))
end

-- The lengths of documents, as their records have them; nil: the records are too long.
function bests.lengths_of(list)
  local lengths, bytes = {}, 0
  for first = 1, #list, LENGTHS_AT_ONCE do
    if bytes > LENGTH_BYTES then
      return nil
    end
    local last = math.min(first + LENGTHS_AT_ONCE - 1, #list)
    for i, record in ipairs(redis.call('HMGET', DOCS, unpack(list, first, last))) do
      lengths[first + i - 1] = record and struct.unpack('>I4', record) or 0
      bytes = bytes + (record and #record or 0)
    end
  end
  return lengths
end

-- Returns the least and the greatest relevance that each document can have, by its own length; nil:
-- the records are too long. `classes`: those of each document.
function bests.bounds_of(list, classes, words, average)
  local lengths = bests.lengths_of(list)
  if not lengths then
    return nil
  end
  local lows, highs = {}, {}
  for i, length in ipairs(lengths) do
    local low, high = 0, 0
    for k, class in ipairs(classes[i]) do
      if class.high > 0 then
        local most = math.max(class.low, math.min(class.high, length))
        low = low + words[k].weight * bests.impact(class.low, length, average)
        high = high + words[k].weight * bests.impact(most, length, average)
      end
    end
    lows[i], highs[i] = low, high
  end
  return lows, highs
end

-- The indexes of the documents with exactly the relevance `least`, the lowest numbers first.
function bests.ties(list, lows, highs, least)
  local ties = {}
  for i = 1, #list do
    if lows[i] == least and highs[i] == least then
      ties[#ties + 1] = i
    end
  end
  table.sort(ties, function(a, b) return tonumber(list[a]) < tonumber(list[b]) end)
  return ties
end

-- The indexes of the documents that may be among the `wanted` best, and the least relevance of these.
-- Hits of equal relevance are in the order of their numbers, so of the documents that are exactly at
-- the limit only those are taken that have room behind the better ones.
function bests.choose(list, lows, highs, wanted)
  local sorted, chosen, better = {unpack(lows)}, {}, 0 -- at most VISIT_MOST and a part
  table.sort(sorted, function(a, b) return a > b end)
  local least = sorted[wanted]
  if not least then
    for i = 1, #list do
      chosen[i] = i
    end
    return chosen, 0
  end
  local limit = least * (1 - SLACK)
  for i = 1, #list do
    better = better + (lows[i] > least and 1 or 0)
    if highs[i] >= limit and not (lows[i] == least and highs[i] == least) then
      chosen[#chosen + 1] = i
    end
  end
  for i, index in ipairs(bests.ties(list, lows, highs, least)) do
    if i + better <= wanted then
      chosen[#chosen + 1] = index
    end
  end
  return chosen, limit
end

-- The class of each document of a list for a word, in the order of the list.
function bests.classes_in(list, word, scratch)
  local classes, of = {{low = 0, high = 0}}, {}
  if word.required then
    classes[1] = {low = 1}
  else
    classes[2] = {low = 1, operand = word.operand}
  end
  for _, class in ipairs(word.several) do
    classes[#classes].high = classes[#classes].high or class.low - 1
    classes[#classes + 1] = {low = class.low, operand = class.operand}
  end
  classes[#classes].high = word.times_max
  for i = 1, #list do
    of[i] = classes[1]
  end
  for k = 2, #classes do
    local class, has = classes[k], nil
    if class.operand.size > 0 then
      has = sets.lookup(sets.keep_all(list, {class.operand}, true, scratch))
    end
    for i = 1, has and #list or 0 do
      of[i] = has[tonumber(list[i])] and class or of[i]
    end
  end
  return of
end

-- The documents of an array that may be among the `wanted` best; nil: the records are too long.
function bests.of_list(list, words, average, wanted, scratch)
  local classes, of_word = {}, {}
  for k, word in ipairs(words) do
    of_word[k] = bests.classes_in(list, word, scratch)
  end
  for i = 1, #list do
    classes[i] = {}
    for k = 1, #words do
      classes[i][k] = of_word[k][i]
    end
  end
  local lows, highs = bests.bounds_of(list, classes, words, average)
  if not lows then
    return nil
  end
  local chosen = {}
  for i, index in ipairs((bests.choose(list, lows, highs, wanted))) do
    chosen[i] = list[index]
  end
  return chosen
end

-- Adds a group of `count` documents with a relevance of at least `low`. The groups are sorted, the
-- highest first.
function bests.add_certain(certain, low, count)
  local at = 1
  while certain[at] and certain[at].low >= low do -- at most CELLS_MOST rounds
    at = at + 1
  end
  table.insert(certain, at, {low = low, count = count})
end

-- The relevance that at least `wanted` documents have for certain; 0: fewer documents are known.
function bests.certain_of(certain, wanted)
  local count = 0
  for _, group in ipairs(certain) do
    count = count + group.count
    if count >= wanted then
      return group.low
    end
  end
  return 0
end

-- The state of a search that begins. `done`: cells that were visited; `byte`: where the next one goes
-- on; `looked`: how many parts of cells were found by combining bitmaps; `found`: documents, `cells`:
-- the index of the cell of each, `lows` and `highs`: the bounds of the first ones by their own
-- lengths; `certain`: groups of those found since others were dropped, see bests.add_certain();
-- `least`: the relevance that enough documents have by their own lengths; `is_over`, later: all cells
-- that have to be visited were visited.
function bests.begin()
  return {done = 0, byte = 0, looked = 0, found = {}, cells = {}, lows = {}, highs = {},
          certain = {}, least = 0}
end

-- ---- A search ---------------------------------------------------------------

-- Adds the bounds of the documents that were found since the last call, by their own lengths. False:
-- their records are too long.
function bests.bound_found(search)
  local state, list, classes = search.state, {}, {}
  local known = #state.lows
  for i = known + 1, #state.found do
    list[i - known], classes[i - known] = state.found[i], search.cells[state.cells[i]].classes
  end
  local lows, highs = bests.bounds_of(list, classes, search.words, search.average)
  for i = 1, lows and #lows or 0 do
    state.lows[known + i], state.highs[known + i] = lows[i], highs[i]
  end
  return lows ~= nil
end

-- Drops the found documents that cannot be among the best.
function bests.drop_found(search)
  local state = search.state
  if not bests.bound_found(search) then
    return
  end
  local chosen, least = bests.choose(state.found, state.lows, state.highs, search.wanted)
  for _, name in ipairs({'found', 'cells', 'lows', 'highs'}) do
    local all, kept = state[name], {}
    for i, index in ipairs(chosen) do
      kept[i] = all[index]
    end
    state[name] = kept
  end
  state.certain = {}
  state.least = math.max(state.least, least)
end

-- The relevance that the best documents have for certain.
function bests.least(search)
  return math.max(search.state.least, bests.certain_of(search.state.certain, search.wanted))
end

-- The documents of the result in a band, as an operand; false: they are many.
function bests.in_band(search, band)
  if search.lists[band] == nil then
    local list, byte = bests.intersect({search.result, search.bands[band]}, 0, BAND_LIST,
                                       search.scratch, search.next)
    search.lists[band] = not byte and sets.list_of(list)
  end
  return search.lists[band]
end

-- The next documents of a cell, and the byte to go on with, nil at its end. Returns nil when too many
-- cells were looked at.
function bests.read(search, cell)
  local state, in_band = search.state, bests.in_band(search, cell.band)
  if in_band and in_band.size == 0 then
    return {}
  end
  local operands = {in_band or search.result, unpack(cell.operands)}
  if not in_band then
    operands[#operands + 1] = search.bands[cell.band]
    state.looked = state.looked + 1
  end
  if state.looked > LOOKED_MOST then
    return nil
  end
  return bests.intersect(operands, state.byte, CELL_PART, search.scratch, search.next)
end

-- Takes a part of the documents of a cell that were not seen before; false: they are too many.
function bests.visit(search, cell)
  local state, fresh = search.state, 0
  local list, byte = bests.read(search, cell)
  if not list then
    return false
  end
  for _, number in ipairs(list) do
    if not search.seen[number] then
      search.seen[number] = true
      fresh = fresh + 1
      state.found[#state.found + 1] = number
      state.cells[#state.found] = cell.index
    end
  end
  if fresh > 0 then
    bests.add_certain(state.certain, cell.low, fresh)
  end
  state.byte = byte or 0
  state.done = state.done + (byte and 0 or 1)
  if #state.found > FOUND_MOST then
    bests.drop_found(search)
  end
  return #state.found <= VISIT_MOST
end

-- The documents of a result that may be among the best, as an array; nil: they are too many,
-- compare all documents; false: more cells have to be visited, and the second result is the state
-- to go on with. It visits at least a part of a cell, and ends when the server's clock shows
-- `stop_us`. A search is {result, wanted, words, bands, average, state, scratch, next}: a bitmap; how
-- many hits are wanted; {operand, several, times_max, weight, required} of each word, with {low,
-- operand, is_coarse} of each class above the first; the operands of the bands of lengths; the mean
-- length; all numbers are below `next`.
function bests.candidates(search, stop_us)
  local state, visited = search.state, false
  search.cells = bests.cells_of(search.words, search.bands, search.average)
  search.lists, search.seen = {}, {} -- documents by band; the documents that were found
  local sorted = bests.sorted(search.cells)
  for _, number in ipairs(state.found) do
    search.seen[number] = true
  end
  -- At most LOOKED_MOST parts of cells, and CELLS_MOST cells.
  while not state.is_over and state.done < #sorted do
    local cell = sorted[state.done + 1]
    -- No document of a cell that is left has a higher relevance than this cell's bound.
    if bests.least(search) >= cell.high * (1 + SLACK) then
      state.is_over = true
    elseif visited and clock.us() > stop_us then
      return false, state
    elseif not bests.visit(search, cell) then
      return nil
    end
    visited = true
  end
  -- Documents without any of the words are in no cell.
  if #state.found < math.min(search.wanted, search.result.size) then
    return nil
  end
  state.is_over = true
  if visited and clock.us() > stop_us then
    return false, state -- the next call reads the lengths
  end
  bests.drop_found(search)
  return state.found
end

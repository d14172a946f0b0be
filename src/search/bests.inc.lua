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
-- Documents of a cell, and of all cells that are visited; a result that needs more is compared as a
-- whole.
local CELL_MOST, VISIT_MOST = 2000, 4000
local CELLS_MOST = 600 -- cells; with more words there are fewer classes of each
local LOOKED_MOST = 200 -- cells whose documents are looked up by combining bitmaps
local LENGTH_BYTES = 128 * 1024 -- bytes of records that are read for the lengths in them
local LENGTHS_AT_ONCE = 32

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

-- Adds to a class what its word adds to the relevance of a document of each band: at least
-- class.least[i], at most class.most[i]. An entry of `most` is false where no document can have the
-- word so often.
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

-- The classes of a word above the first, at most `most` of them: the coarse ones if all are too many.
function bests.several_of(word, most)
  local some = {}
  for _, class in ipairs(word.several) do
    if #some < most and (#word.several <= most or class.is_coarse) then
      some[#some + 1] = class
    end
  end
  return some
end

-- The classes of a word that have documents: {low, high, operand, least, most}, the bounds of its
-- number of times, the operand of the documents, and the bounds of the relevance. `several`: how
-- many there are above the first, at most. A word that is not required has a class for its absence.
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

-- The cells of all bands: {low, high, band, operands, classes, index}. A document of a cell has at
-- least `low` and at most `high` relevance, or more than that: then a higher cell of the band has
-- it, too.
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

-- The cells, those with the highest bounds first. Among the cells of a band that have a document,
-- the one with its own classes comes first.
function bests.sorted(cells)
  local sorted = {unpack(cells)} -- at most CELLS_MOST
  table.sort(sorted, function(a, b)
    return a.high > b.high or (a.high == b.high and a.index < b.index)
  end)
  return sorted
end

-- The intersection of operands as an array; nil: it has more than `most`.
function bests.intersect(operands, most, scratch, next)
  table.sort(operands, sets.by_size)
  for _, operand in ipairs(operands) do
    if not operand.bits then
      return sets.and_lists(operands, {}, scratch).list
    end
  end
  local common = sets.and_bits(operands, {}, scratch, scratch, next)
  if common.size > most then
    return nil
  end
  return (sets.read_bits(common.key, common.size, 0, common.size))
end

-- The band of a length, from 1.
function bests.band_of(length)
  local octaves = math.log(math.max(1, length)) / math.log(2)
  return math.min(math.floor(octaves * BANDS_PER_OCTAVE + SLACK) + 1, LENGTH_BANDS)
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

-- The documents of an array by their bands; all bands have an array. Nil: the records are too long.
function bests.by_bands(list)
  local bands, lengths = {}, bests.lengths_of(list)
  if not lengths then
    return nil
  end
  for band = 1, LENGTH_BANDS do
    bands[band] = {}
  end
  for i, number in ipairs(list) do
    table.insert(bands[bests.band_of(lengths[i])], number)
  end
  for band = 1, LENGTH_BANDS do
    bands[band] = sets.list_of(bands[band])
  end
  return bands
end

-- The relevance that documents have at least and at most, by their own lengths; nil: the records are
-- too long. `cells`: the cell of each document.
function bests.bounds_of(list, cells, words, average)
  local lengths = bests.lengths_of(list)
  if not lengths then
    return nil
  end
  local lows, highs = {}, {}
  for i, length in ipairs(lengths) do
    local low, high = 0, 0
    for k, class in ipairs(cells[list[i]].classes) do
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

-- The relevance that the `wanted` best of the documents have at least.
function bests.least_of(lows, wanted)
  local sorted = {unpack(lows)} -- at most VISIT_MOST and the last cell
  table.sort(sorted, function(a, b) return a > b end)
  return (sorted[wanted] or 0) * (1 - SLACK)
end

-- Drops the documents that cannot be among the `wanted` best by their own lengths.
function bests.refine(list, cells, words, average, wanted)
  if #list <= wanted then
    return list
  end
  local lows, highs = bests.bounds_of(list, cells, words, average)
  if not lows then
    return list
  end
  local least, kept = bests.least_of(lows, wanted), {}
  for i, number in ipairs(list) do
    if highs[i] >= least then
      kept[#kept + 1] = number
    end
  end
  return kept
end

-- Adds documents that have at least a relevance of `low`. `certain` is sorted, the highest first.
function bests.add_certain(certain, low, count)
  local at = 1
  while certain[at] and certain[at].low >= low do -- at most CELLS_MOST rounds
    at = at + 1
  end
  table.insert(certain, at, {low = low, count = count})
end

-- The relevance that `wanted` documents have for certain; 0: so many are not known.
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

-- The place at which the search for the best begins: {done, looked, found, cells, certain, least}.
-- `is_over`: all cells were visited that have to be.
function bests.first_place()
  return {done = 0, looked = 0, found = {}, cells = {}, certain = {}, least = 0}
end

-- The documents of the result that may be among the `wanted` best, as an array; nil: they are too
-- many, compare all documents; false: there are more cells to visit, and the second result
-- is the place to go on at. `words`: {operand, several, times_max, weight, required} of each word, with
-- {low, operand, is_coarse} of each class above the first; `bands`: the operands of the bands of lengths; `average`: the mean length; `place`: nil at first; `next`: all
-- numbers are below it; `stop_us`: when this call has done enough, by the server's clock. It visits
-- at least one cell.
function bests.candidates(result, words, bands, average, wanted, place, scratch, next, stop_us)
  local cells = bests.cells_of(words, bands, average)
  local sorted = bests.sorted(cells)
  local visited, seen = 0, {} -- `seen`: the cell of each document
  place = place or bests.first_place()
  local least = math.max(place.least, bests.certain_of(place.certain, wanted))
  for i, number in ipairs(place.found) do
    seen[number] = cells[place.cells[i]]
  end
  -- The documents of the result in bands that have few of them; false: many.
  local lists = {}
  if result.list then
    lists = bests.by_bands(result.list)
    if not lists then
      return nil
    end
  end

  local function is_late()
    return visited > 0 and clock.us() > stop_us
  end

  -- Ends the search, or puts the end off until the next call.
  local function finish()
    place.is_over = true
    if is_late() then
      return false, place
    end
    return bests.refine(place.found, seen, words, average, wanted)
  end

  -- Takes the documents of a cell that were not seen before; false: they are too many.
  local function visit(cell)
    local band = cell.band
    visited = visited + 1
    if lists[band] == nil then
      local list = bests.intersect({result, bands[band]}, BAND_LIST, scratch, next)
      lists[band] = list and sets.list_of(list) or false
    end
    if lists[band] and lists[band].size == 0 then
      return true
    end
    local operands = {unpack(cell.operands)}
    if lists[band] then
      operands[#operands + 1] = lists[band]
    else
      operands[#operands + 1], operands[#operands + 2] = result, bands[band]
      place.looked = place.looked + 1
    end
    local list = place.looked <= LOOKED_MOST and bests.intersect(operands, CELL_MOST, scratch, next)
    if not list then
      return false
    end
    local fresh = 0
    for _, number in ipairs(list) do
      if not seen[number] then
        seen[number] = cell
        fresh = fresh + 1
        place.found[#place.found + 1] = number
        place.cells[#place.found] = cell.index
      end
    end
    if fresh > 0 then
      bests.add_certain(place.certain, cell.low, fresh)
      least = math.max(place.least, bests.certain_of(place.certain, wanted))
    end
    return #place.found <= VISIT_MOST
  end

  -- Whether the documents found so far are certain to be better than all of a cell, by their own
  -- lengths: which is looked at when the cell has too many documents.
  local function are_better(cell)
    local lows = #place.found >= wanted and bests.bounds_of(place.found, seen, words, average)
    place.least = lows and bests.least_of(lows, wanted) or 0
    return place.least >= cell.high * (1 + SLACK)
  end

  for i = place.is_over and #sorted + 1 or place.done + 1, #sorted do
    -- No document of a cell that is left has a higher relevance than this cell's bound.
    if least >= sorted[i].high * (1 + SLACK) then
      return finish()
    elseif not visit(sorted[i]) then
      if are_better(sorted[i]) then
        return finish()
      end
      return nil
    end
    place.done = i
    if is_late() then
      return false, place
    end
  end
  -- Documents without any of the words are in no cell.
  if #place.found < math.min(wanted, result.size) then
    return nil
  end
  return finish()
end

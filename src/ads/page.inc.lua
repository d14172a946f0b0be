-- A page, and what an ad is worth on it.
-- include: record

-- {locations, viewer = {kind = value}, words, has = {word = true}} from the arguments from `at` on:
-- so many locations, kind and value of so many parameters, words.
local function read_page(args, at, places, traits)
  local page = {locations = {}, viewer = {}, words = {}, has = {}}
  for i = at, at + places - 1 do
    page.locations[#page.locations + 1] = args[i]
  end
  at = at + places
  for i = at, at + 2 * traits - 1, 2 do
    page.viewer[args[i]] = args[i + 1]
  end
  for i = at + 2 * traits, #args do
    page.words[#page.words + 1] = args[i]
    page.has[args[i]] = true
  end
  return page
end

local function first_unmet(needs, viewer)
  for _, need in ipairs(needs) do
    local met = false
    for i = 2, #need do
      met = met or viewer[need[1]] == need[i]
    end
    if not met then
      return need[1]
    end
  end
end

local function first_location(page, terms)
  local has = {}
  for _, location in ipairs(terms.locations) do
    has[location] = true
  end
  for _, location in ipairs(page.locations) do
    if has[location] then
      return location
    end
  end
end

-- What an ad with these values is worth: {score, base, words, ecpm}, the matching words.
local function score_of(values, page)
  local found = {score = values.base, base = values.base, words = {}, ecpm = values.ecpm}
  local least, most
  for _, word in ipairs(values.words) do
    if page.has[word] then
      local ecpm = values.ecpm[word]
      found.words[#found.words + 1] = word
      least = least and math.min(least, ecpm) or ecpm
      most = most and math.max(most, ecpm) or ecpm
    end
  end
  if least then
    found.score = (least + most) / 2
  end
  return found
end

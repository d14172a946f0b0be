-- A page, and the worth of ads on it.
-- include: records

local pages = {}

-- Reads the page from the arguments, beginning at `at`: `places` locations, kind and value of
-- `traits` parameters, and words. Returns {locations, viewer = {kind = value}, words, has = {word =
-- true}}.
function pages.read(args, at, places, traits)
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

-- The first required kind that the viewer does not meet; nil: the viewer meets all.
function pages.first_unmet(needs, viewer)
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

-- The first location of the page that the ad has; nil: none.
function pages.first_location(page, terms)
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

-- The mean of the smallest and the largest value of some words.
function pages.middle(words, values)
  local least, most = values[words[1]], values[words[1]]
  for _, word in ipairs(words) do
    least, most = math.min(least, values[word]), math.max(most, values[word])
  end
  return (least + most) / 2
end

-- The worth of an ad with these values: {score, rank, base, words, ecpm}; `words`: the matching
-- words. The rank is computed like the score, but from bounds. Ads compete by rank.
function pages.score_of(values, page)
  local found = {score = values.base, rank = values.bound, base = values.base, words = {},
    ecpm = values.ecpm}
  for _, word in ipairs(values.words) do
    if page.has[word] then
      found.words[#found.words + 1] = word
    end
  end
  if #found.words > 0 then
    found.score = pages.middle(found.words, values.ecpm)
    found.rank = pages.middle(found.words, values.bounds)
  end
  return found
end

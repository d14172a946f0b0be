-- How many items set so many of the bits, with so many bits for each.
local function estimate(set, bits, hashes)
  return math.floor(0.5 - bits / hashes * math.log(1 - math.min(set, bits - 1) / bits))
end

-- Banding: documents are posted under bands of their number of words.

local banding = {}

local LENGTH_BANDS = TKL__SEARCH_BANDS
local BANDS_PER_OCTAVE = TKL__SEARCH_BANDS_PER_OCTAVE
local ROUNDING = 1e-9 -- only powers of two are this near to the next band

-- The band of a document with this many words, from 0, as tkl__search_band_of() has it.
function banding.band_of(words)
  local band = words > 0 and math.log(words) / math.log(2) * BANDS_PER_OCTAVE or 0
  return math.min(math.floor(band + ROUNDING), LENGTH_BANDS - 1)
end

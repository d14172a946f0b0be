-- Counts: how often documents have the words of a prefix, as bitmaps that search/times makes.

-- Bitmap i has the documents that have the words at least TIMES_LEAST[i] times, all words together.
local TIMES_LEAST = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}
local TIMES = #TIMES_LEAST

-- A search that would have too many classes uses only the classes that begin with one of these.
local COARSE = {[2] = true, [4] = true, [8] = true, [16] = true, [32] = true}

-- Result codes, as in TKL_CODES.

local OK = 0
local NOTFOUND = 4
local FULL = 5
local NOTOWNER = 6
local EXISTS = 7
local CONFLICT = 9

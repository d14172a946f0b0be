-- A grant is for so long, in microseconds, until a sign of life of the one who got it.
local FIRST_LEASE = '0000000000800000'

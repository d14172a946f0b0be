-- Results, as the list of codes in tackle/common.h has them.
local OK, BUSY, NOTFOUND, FULL, EXISTS = 0, 1, 4, 5, 7

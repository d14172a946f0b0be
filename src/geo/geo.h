/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of this folder.
 */
#ifndef TKL_GEO_GEO_H
#define TKL_GEO_GEO_H

#include <tackle/geo.h>

/* Leaves out places for which `is_inside` is false, and places after the first `max` (0: all).
 */
void tkl__geo_keep(tkl_geo_places *places,
                   bool (*is_inside)(const tkl_geo_place *place, const tkl_geo_cell *cell),
                   const tkl_geo_cell *cell, int64_t max);

#endif

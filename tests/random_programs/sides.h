/* One side of an exchange (exchanges.h): read from a program, and where its blocks lie. */
#pragma once

#include "exchanges.h"

/* Of form a, v or w. Where `wanted`, its types are made for MPI, too. */
Side read_side(Script* script, char form, int blocks, int wanted);
void free_side(Side* side);
/* From the base; what has no bytes reaches nowhere. */
void reach_of(const Side* side, int64_t* low, int64_t* high);

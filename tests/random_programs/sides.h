/* This is one side of an exchange (exchanges.h): it is read from a program, and tells where its blocks lie. */
#pragma once

#include "exchanges.h"

/* The form is a, v or w. Where `wanted`, its types are made for MPI, too. */
Side read_side(Script* script, char form, int blocks, int wanted);
void free_side(Side* side);
/* The reach is from the base. What has no bytes reaches nowhere. */
void reach_of(const Side* side, int64_t* low, int64_t* high);

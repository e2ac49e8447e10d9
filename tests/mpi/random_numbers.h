/* This is xorshift64*, which gives the same numbers on every machine. */
#pragma once

#include <stdint.h>

typedef struct {
  uint64_t state;
} Random;

static inline Random random_from(uint64_t seed) {
  Random random = {seed * 0x9e3779b97f4a7c15u + 0x1234567u};
  if (random.state == 0) random.state = 1;
  return random;
}

static inline uint64_t random_word(Random* random) {
  random->state ^= random->state >> 12;
  random->state ^= random->state << 25;
  random->state ^= random->state >> 27;
  return random->state * 0x2545f4914f6cdd1du;
}

/* Returns 0 to below - 1. */
static inline int random_below(Random* random, int below) {
  return (int)((random_word(random) >> 33) % (uint64_t)below);
}

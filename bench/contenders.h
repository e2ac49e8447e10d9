// These functions make the contenders. Each gets a communicator, and crossrail is told what to do on it.
#pragma once

#include <string>

#include "turn.h"

namespace bench {

// Makes the contenders of the bench. Returns false if that is impossible; some rank has then said why.
bool make_contenders(Bench& bench);
void free_contenders(Bench& bench);

// It prevents that the algorithm of an earlier call is mistaken for that of one that crossrail does not handle.
void forget_last_algorithm();
// Returns what handled the last call of a contender.
std::string algorithm_of(const Contender& contender);
// Returns whether that is what the contender stands for.
bool is_wanted(const Bench& bench, const Contender& contender, const std::string& algorithm);

// Returns the lowest rank with `mine` false, or the number of ranks if there is none.
int first_without(bool mine, const Bench& bench);

}  // namespace bench

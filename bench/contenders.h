// Who takes part: contenders get a communicator each, and crossrail is told what to do on it.
#pragma once

#include <string>

#include "turn.h"

namespace bench {

// Makes the contenders of the bench. False where that cannot be done; a rank has then said why.
bool make_contenders(Bench& bench);
void free_contenders(Bench& bench);

// So that what is left of an earlier call is not taken for the algorithm of one that crossrail does not carry.
void forget_last_algorithm();
// What carried the last call of a contender.
std::string algorithm_of(const Contender& contender);
// Whether that is what the contender stands for.
bool is_wanted(const Bench& bench, const Contender& contender, const std::string& algorithm);

// The lowest rank that says no; the number of ranks where none does.
int first_without(bool mine, const Bench& bench);

}  // namespace bench

// A token is a persistent MPI request that stands for a call of ours. It is a receive of zero bytes from this process itself, so a message to itself
// completes it. If the call has ended with an error, the message is one byte too long, and the program's wait returns an error.
#pragma once

#include "mpi/library/flavour.h"

namespace crossrail::mpi {

struct Token {
  MPI_Request request;
  int tag = -1;
};

// Returns false if there is no MPI_COMM_SELF (sessions).
bool tokens_possible();
// These return MPI codes.
int open_token(Token& token);
// Frees a token that the program has never had.
void drop_token(Token& token);
int start_token(Token& token);
// Completes what start_token has begun. If `code` is an error, the program's wait returns one.
void complete_token(const Token& token, int code);
// Does the same with less work by cancelling the receive. The caller is about to wait for it and must mend the status.
void withdraw_token(Token& token);
// Its number may be reused. The program frees the request itself.
void close_token(Token& token);

}  // namespace crossrail::mpi

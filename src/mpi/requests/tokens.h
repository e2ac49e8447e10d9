// Tokens: persistent requests of the MPI library that stand for calls of ours. A token is a receive of nothing from this process itself, so
// a message to itself completes it. If the call has ended with an error, the message is too long by a byte, and the program's wait returns
// an error.
#pragma once

#include "mpi/library/flavour.h"

namespace crossrail::mpi {

struct Token {
  MPI_Request request;
  int tag = -1;
};

// False where there is no MPI_COMM_SELF (sessions).
bool tokens_possible();
// These return MPI codes.
int open_token(Token& token);
// One that the program has never had.
void drop_token(Token& token);
int start_token(Token& token);
// Completes what start_token has begun. With an error the program's wait returns one.
void complete_token(const Token& token, int code);
// The same with less work, as a receive that has been cancelled: for who is about to wait for it and to mend the status.
void withdraw_token(Token& token);
// Its number may be had again. The request itself is freed by the program.
void close_token(Token& token);

}  // namespace crossrail::mpi

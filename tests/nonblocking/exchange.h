/* This is one exchange of ints in any of the three forms, nonblocking or persistent, whose right outcome every rank can compute. It has poisoned
 * receive buffers, gaps between blocks, and guards at both ends. */
#pragma once

#include <mpi.h>

typedef enum { kPlain, kVector, kTypes, kForms } Form;

typedef struct {
  MPI_Comm comm;
  int rank, ranks; /* They are kept, since the communicator may be freed before the end. */
  Form form;
  int count; /* They are the ints of a plain block, and of the longest of the other forms. */
  int in_place, salt; /* The salt is the same on all ranks. */
  int slot; /* They are the ints from block to block. */
  int *send_memory, *recv_memory, *send, *recv;
  int *counts, *places;
  MPI_Datatype *send_types, *recv_types, spaced;
  MPI_Request request;
} Exchange;

const char* form_name(Form form);
/* `form` + kForms is the form in place (where the MPI library can do it: host.h). */
void make_exchange(Exchange* exchange, MPI_Comm comm, int form, int count);
/* Sets new numbers to send, and poison where others' numbers are to come. */
void fill_exchange(Exchange* exchange, int salt);
void start_exchange(Exchange* exchange);
/* Makes the persistent request; only where HAVE_PERSISTENT (persistent.h). */
void init_exchange(Exchange* exchange, MPI_Info info);
/* MPI allows this as soon as the call has returned. */
void free_types(Exchange* exchange);
void check_exchange(const Exchange* exchange, const char* what);
void free_exchange(Exchange* exchange);

/* begin_exchange() does all of it up to the nonblocking call, end_exchange() all that is left after its end. */
void begin_exchange(Exchange* exchange, MPI_Comm comm, int form, int count, int salt);
void end_exchange(Exchange* exchange, const char* what);

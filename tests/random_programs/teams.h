/* These are communicators. One step of a program may make several at once, as MPI_Comm_split does; a team is all of them. */
#pragma once

#include <mpi.h>

#include "script.h"

enum { kMostTeams = 64 };

typedef struct {
  MPI_Comm comm; /* It is this rank's, or MPI_COMM_NULL where it is no member. */
  int inter;     /* With it groups 0 and 1, 2 and 3, ... are each other's remote ones. */
  int groups;
  int size[kMostRanks], member[kMostRanks][kMostRanks]; /* They are of each group, as ranks of the world. */
  int group_of[kMostRanks]; /* It is of each rank of the world; -1 is none. */
} Team;

/* The steps `comm` and `free` make them; team 0 is the world. */
void begin_teams(void);
Team* team_of(int number);
void make_team(Script* script);
void free_team(Script* script);
/* Frees those that the program has left. */
void free_teams(void);
/* Returns the ranks with which rank `world_rank` exchanges blocks, and how many. */
const int* peers_of(const Team* team, int world_rank, int* count);
int world_rank(void);
int world_size(void);

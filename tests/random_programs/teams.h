/* Communicators. One step of a program may make several at once, as MPI_Comm_split does: a team is all of them. */
#pragma once

#include <mpi.h>

#include "script.h"

enum { kMostTeams = 64 };

typedef struct {
  MPI_Comm comm; /* of this rank; MPI_COMM_NULL where it is no member */
  int inter;     /* then groups 0 and 1, 2 and 3, ... are each other's remote ones */
  int groups;
  int size[kMostRanks], member[kMostRanks][kMostRanks]; /* of each group, as ranks of the world */
  int group_of[kMostRanks]; /* of each rank of the world; -1: none */
} Team;

/* Made by the steps `comm` and `free`; team 0 is the world. */
void begin_teams(void);
Team* team_of(int number);
void make_team(Script* script);
void free_team(Script* script);
/* Those that the program has left. */
void free_teams(void);
/* The ranks with which rank `world_rank` exchanges blocks, and how many. */
const int* peers_of(const Team* team, int world_rank, int* count);
int world_rank(void);
int world_size(void);

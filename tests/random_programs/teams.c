#include "teams.h"

#include <string.h>

#include "check.h"

static Team teams[kMostTeams];

int world_rank(void) { return rank_in(MPI_COMM_WORLD); }
int world_size(void) { return size_of_comm(MPI_COMM_WORLD); }

Team* team_of(int number) {
  if (number < 0 || number >= kMostTeams) give_up("no team %d", number);
  return &teams[number];
}

void begin_teams(void) {
  memset(teams, 0, sizeof teams);
  teams[0].comm = MPI_COMM_WORLD;
  teams[0].groups = 1;
  teams[0].size[0] = world_size();
  for (int i = 0; i < world_size(); ++i) teams[0].member[0][i] = i;
}

const int* peers_of(const Team* team, int rank, int* count) {
  const int group = team->group_of[rank];
  if (group < 0) return NULL;
  const int other = team->inter ? group ^ 1 : group;
  *count = team->size[other];
  return team->member[other];
}

static void read_groups(Script* script, Team* team) {
  team->inter = (int)next_number(script);
  team->groups = (int)next_number(script);
  for (int i = 0; i < kMostRanks; ++i) team->group_of[i] = -1;
  for (int group = 0; group < team->groups; ++group) {
    team->size[group] = (int)next_number(script);
    for (int i = 0; i < team->size[group]; ++i) {
      const int rank = (int)next_number(script);
      team->member[group][i] = rank;
      team->group_of[rank] = group;
    }
  }
}

/* In split the place of a rank in its group is its key. */
static MPI_Comm split(const Team* team, MPI_Comm parent, int kept) {
  const int group = team->group_of[world_rank()];
  int key = 0;
  MPI_Comm made;
  while (group >= 0 && team->member[group][key] != world_rank()) ++key;
  /* The keys have gaps, and some are negative. */
  MPI_OK(MPI_Comm_split(parent, group < 0 ? MPI_UNDEFINED : group + kept, 3 * key - 4, &made));
  return made;
}

static MPI_Group group_in(const Team* team, MPI_Comm parent) {
  MPI_Group world, made;
  const int mine = team->group_of[world_rank()];
  (void)parent;
  MPI_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  MPI_OK(MPI_Group_incl(world, mine < 0 ? 0 : team->size[mine], mine < 0 ? NULL : team->member[mine], &made));
  MPI_OK(MPI_Group_free(&world));
  return made;
}

static MPI_Comm create(const Team* team, MPI_Comm parent, int by_group_only) {
  MPI_Comm made = MPI_COMM_NULL;
  if (by_group_only && team->group_of[world_rank()] < 0) return made;
  MPI_Group group = group_in(team, parent);
  if (by_group_only) {
    MPI_OK(MPI_Comm_create_group(parent, group, 17, &made));
  } else {
    MPI_OK(MPI_Comm_create(parent, group, &made));
  }
  MPI_OK(MPI_Group_free(&group));
  return made;
}

static MPI_Comm duplicate_at_leisure(MPI_Comm parent) {
  MPI_Comm made;
  MPI_Request request;
  MPI_OK(MPI_Comm_idup(parent, &made, &request));
  MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return made;
}

static MPI_Comm grid(const Team* team, MPI_Comm parent) {
  const int sizes[2] = {team->size[0] / 2, 2}, periods[2] = {0, 1};
  MPI_Comm made;
  MPI_OK(MPI_Cart_create(parent, 2, sizes, periods, 0, &made));
  return made;
}

/* Makes a communicator between the two groups. Leaders are their first ranks, by the world. */
static MPI_Comm between(const Team* team, MPI_Comm parent) {
  MPI_Comm half, made;
  const int group = team->group_of[world_rank()];
  if (group < 0) return MPI_COMM_NULL;
  half = split(team, parent, 0);
  MPI_OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, team->member[group ^ 1][0], 99, &made));
  MPI_OK(MPI_Comm_free(&half));
  return made;
}

static MPI_Comm merged(const Team* from, MPI_Comm inter) {
  MPI_Comm made;
  MPI_OK(MPI_Intercomm_merge(inter, from->group_of[world_rank()] % 2, &made));
  return made;
}

/* Makes one with an info key of crossrail's, NAME=VALUE, or none. */
static MPI_Comm with_info(MPI_Comm parent, char* key) {
  MPI_Comm made;
  MPI_Info info = MPI_INFO_NULL;
  char* const value = strchr(key, '=');
  if (value != NULL) {
    *value = '\0';
    MPI_OK(MPI_Info_create(&info));
    MPI_OK(MPI_Info_set(info, key, value + 1));
  }
  MPI_OK(MPI_Comm_dup_with_info(parent, info, &made));
  if (value != NULL) MPI_OK(MPI_Info_free(&info));
  return made;
}

static MPI_Comm make(const char* how, char* key, const Team* team, const Team* from) {
  const MPI_Comm parent = from->comm;
  MPI_Comm made = MPI_COMM_NULL;
  if (strcmp(how, "self") == 0) {
    MPI_OK(MPI_Comm_dup(MPI_COMM_SELF, &made));
    return made;
  }
  if (strcmp(how, "oneself") == 0) return MPI_COMM_SELF;
  if (strcmp(how, "group") == 0) return create(team, parent, 1);
  if (parent == MPI_COMM_NULL) return MPI_COMM_NULL;
  if (strcmp(how, "dup") == 0) MPI_OK(MPI_Comm_dup(parent, &made));
  if (strcmp(how, "info") == 0) return with_info(parent, key);
  if (strcmp(how, "split_type") == 0) {
    MPI_OK(MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
  }
  if (strcmp(how, "idup") == 0) return duplicate_at_leisure(parent);
  if (strcmp(how, "split") == 0) return split(team, parent, 5);
  if (strcmp(how, "create") == 0) return create(team, parent, 0);
  if (strcmp(how, "cart") == 0) return grid(team, parent);
  if (strcmp(how, "inter") == 0) return between(team, parent);
  if (strcmp(how, "merge") == 0) return merged(from, parent);
  return made;
}

/* This step is comm NUMBER HOW KEY PARENT RETURNS INTER GROUPS (SIZE ranks...)... */
void make_team(Script* script) {
  Team* const team = team_of((int)next_number(script));
  char how[kWordBytes], key[kWordBytes];
  strcpy(how, next_word(script));
  strcpy(key, next_word(script));
  const Team* const from = team_of((int)next_number(script));
  const int returns = (int)next_number(script);
  read_groups(script, team);
  team->comm = make(how, key, team, from);
  const int group = team->group_of[world_rank()];
  if ((team->comm == MPI_COMM_NULL) != (group < 0)) give_up("%s made a communicator of other members", how);
  if (group < 0) return;
  if (returns) MPI_OK(MPI_Comm_set_errhandler(team->comm, MPI_ERRORS_RETURN));
  const int rank = rank_in(team->comm);
  if (size_of_comm(team->comm) != team->size[group] || team->member[group][rank] != world_rank()) {
    give_up("%s made a communicator in another order", how);
  }
}

/* This step is free NUMBER WAY; way 1 is MPI_Comm_disconnect. */
void free_team(Script* script) {
  Team* const team = team_of((int)next_number(script));
  const int disconnected = (int)next_number(script);
  if (team->comm == MPI_COMM_NULL || team->comm == MPI_COMM_SELF || team->comm == MPI_COMM_WORLD) return;
  if (disconnected) {
    MPI_OK(MPI_Comm_disconnect(&team->comm));
  } else {
    MPI_OK(MPI_Comm_free(&team->comm));
  }
}

void free_teams(void) {
  for (int number = 1; number < kMostTeams; ++number) {
    MPI_Comm* const comm = &teams[number].comm;
    if (teams[number].groups > 0 && *comm != MPI_COMM_NULL && *comm != MPI_COMM_SELF) MPI_OK(MPI_Comm_free(comm));
  }
}

#!/bin/sh
# This runs a program as if the first half of the ranks were on one node and the others on another: two_nodes.sh PROGRAM
# ARGUMENT... It is started by Open MPI's mpirun.
CROSSRAIL_NODES=0
rank=1
while [ $rank -lt "$OMPI_COMM_WORLD_SIZE" ]; do
  CROSSRAIL_NODES=$CROSSRAIL_NODES,$((2 * rank / OMPI_COMM_WORLD_SIZE))
  rank=$((rank + 1))
done
export CROSSRAIL_NODES
exec "$@"

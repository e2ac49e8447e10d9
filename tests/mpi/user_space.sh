#!/bin/sh
# This runs a program in a user namespace of its own, in which nobody may read the memory of others: user_space.sh PROGRAM
# [ARGUMENT...]
exec unshare --user --map-root-user "$@"

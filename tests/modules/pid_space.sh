#!/bin/sh
# This runs a program in a process-id namespace of its own: pid_space.sh PROGRAM [ARGUMENT...]
# It exits 77 (skipped) where that is not allowed.
if ! unshare --pid --fork --kill-child --mount-proc true 2>/dev/null; then
  echo "skipped: no right to make a process-id namespace"
  exit 77
fi
exec unshare --pid --fork --kill-child --mount-proc "$@"

#!/bin/sh
# This runs a command where there is a GPU, and elsewhere exits 77 (skipped) at once: where_a_gpu_is.sh COMMAND
# [ARGUMENT...]
if [ ! -e /dev/nvidiactl ] && ! nvidia-smi -L >/dev/null 2>&1; then
  echo "skipped: no GPU"
  exit 77
fi
exec "$@"

#!/bin/sh
# This script starts one rank with settings of its own, as on hosts whose files differ: files_by_rank.sh COMMAND... Rank
# r reads setting_files/<r>/crossrail.conf, and tuning.csv beside it where there is one.
files="$(dirname "$0")/setting_files/${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"
[ -f "$files/tuning.csv" ] && export CROSSRAIL_TUNING="$files/tuning.csv"
exec env CROSSRAIL_CONFIG="$files/crossrail.conf" "$@"

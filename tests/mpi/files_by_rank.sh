#!/bin/sh
# Starts one rank with configuration files of its own, as on hosts whose files differ: files_by_rank.sh COMMAND...
# Rank r reads setting_files/<r>/crossrail.conf, and beside it crossrail-tuning.csv.
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
exec env CROSSRAIL_CONFIG="$(dirname "$0")/setting_files/$rank/crossrail.conf" "$@"

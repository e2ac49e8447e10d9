#!/bin/sh
# This runs the tests on device memory without CMake, for programs carried to another machine:
#
#   run_gpu_tests.sh DIR LIBRARY [PATTERN]
#
# DIR holds the programs, LIBRARY is libcrossrail_mpi_openmpi.so with its modules beside it, PATTERN (grep -E) picks
# tests by name.rank-count, as device_kinds.2. Each test prints one line: name, ranks, pass, skip or FAIL, seconds, the
# program's last line; below a failure the first words about it follow. RANKS="2 4" and LOGS=folder may be set. The
# script needs Open MPI 4. It exits 1 if a test failed. Programs that call NCCL are tested where CROSSRAIL_NCCL names NCCL.
set -u
[ $# -ge 2 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
programs=$(cd "$1" && pwd) || exit 2
library=$(realpath "$2")
[ -e "$library" ] || { echo "there is no $2" >&2; exit 2; }
pattern=${3:-.}
logs=${LOGS:-$(mktemp -d)}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$logs"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
failures=0

# This prints pass, skip or FAIL: judge NAME RANKS EXIT-STATUS LOG
judge() {
  case $1 in
  device_killed_*)
    right=$(grep -ac 'survivor: right' "$4")
    if grep -aq "^skipped" "$4"; then echo skip
    elif [ "$right" = $(($2 - 1)) ] && ! grep -aq WRONG "$4"; then echo pass
    else echo FAIL; fi ;;
  *)
    case $3 in 0) echo pass ;; 77) echo skip ;; *) echo FAIL ;; esac ;;
  esac
}

# This prints the program's last line. mpirun may have said more behind it.
last_line() {
  found=$(grep -aE '^(device_|skipped|rank [0-9]+: survivor)' "$1" | tail -n 1)
  [ -n "$found" ] || found=$(grep -av '^[-[:space:]]*$' "$1" | tail -n 1)
  echo "$found"
}

# This runs one test: attempt NAME RANKS MOST-SECONDS COMMAND...
attempt() {
  name=$1 ranks=$2 most=$3
  shift 3
  log=$logs/$name.$ranks.log
  began=$(date +%s.%N)
  timeout -k 5 "$most" "$@" >"$log" 2>&1 </dev/null
  status=$?
  seconds=$(echo "$began $(date +%s.%N)" | awk '{printf "%.1f", $2 - $1}')
  outcome=$(judge "$name" "$ranks" $status "$log")
  echo "$name $ranks $outcome $seconds $(last_line "$log")"
  [ "$outcome" = FAIL ] || return 0
  failures=$((failures + 1))
  echo "    exit status $status, $log"
  { grep -aE 'WRONG|rror|crossrail|ignal' "$log" || tail -n 6 "$log"; } | head -n 6 | cut -c1-300 | sed 's/^/    /'
}

picked() { echo "$1" | grep -qE -- "$pattern"; }

# run NAME 'LAUNCHER ARGUMENTS' WORD... (the program without its folder, and what stands around it)
run() {
  name=$1 launch=$2
  shift 2
  for ranks in ${RANKS:-2 4}; do
    picked "$name.$ranks" || continue
    # shellcheck disable=SC2086
    attempt "$name" "$ranks" 120 mpirun --oversubscribe $launch -n "$ranks" -x LD_PRELOAD="$library" "$@"
  done
}

# run_mps NAME 'LAUNCHER ARGUMENTS' KILL MODE (see mps_killed.py, which needs python3)
run_mps() {
  for ranks in ${RANKS:-2 4}; do
    picked "$1.$ranks" || continue
    attempt "$1" "$ranks" 240 python3 "$here/mps_killed.py" "$library" "$programs/device_mps_killed" --ranks "$ranks" --kill "$3" --mode "$4" --launch="$2"
  done
}

# run_nccl SCENARIO (tests/nccl), with the NCCL that CROSSRAIL_NCCL names
run_nccl() {
  for ranks in ${RANKS:-2 4}; do
    picked "nccl_$1.$ranks" || continue
    attempt "nccl_$1" "$ranks" 120 python3 "$here/../nccl/on_gpus.py" "$(dirname "$library")/libcrossrail_nccl.so" "$CROSSRAIL_NCCL" "$programs/nccl_ranks_cuda" "$1" "$ranks"
  done
}

for program in alltoall allreduce gatherings rooted algorithms kinds reuse types vectors pending on_stream waits; do run device_$program "" "$programs/device_$program"; done
run device_on_stream_packets "-x CROSSRAIL_ALLTOALL=hybrid -x CROSSRAIL_ALLREDUCE=ll_one_shot" "$programs/device_on_stream"
run device_on_stream_ll128 "-x CROSSRAIL_ALLTOALL=ll128 -x CROSSRAIL_ALLREDUCE=ll128_one_shot" "$programs/device_on_stream"
run device_allreduce_packets "-x CROSSRAIL_ALLREDUCE=ll_one_shot" "$programs/device_allreduce"
run device_allreduce_ll128 "-x CROSSRAIL_ALLREDUCE=ll128_one_shot" "$programs/device_allreduce"
for program in alltoall allreduce gatherings rooted kinds reuse pending waits vectors; do run device_nodes_$program "" "$here/two_nodes.sh" "$programs/device_$program"; done
for mode in busy threads visible rotated split; do run device_streams_$mode "" "$programs/device_streams" $mode; done
for mode in free arena chunks many copies native growth; do run device_owners_$mode "" "$programs/device_owners" $mode; done
for mode in own reset finalize gone; do run device_contexts_$mode "" "$programs/device_contexts" $mode; done
run device_full "" "$programs/device_killed" full
run device_pid_spaces "--mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include lo" "$here/pid_space.sh" "$programs/device_pid_spaces"
for algorithm in auto packet ll128 ipc_kernel_push ipc_kernel_pull ipc_copy_push ipc_copy_pull hybrid; do
  for case in before middle; do
    run device_killed_${case}_$algorithm "--mca orte_enable_recovery 1" "$programs/device_killed" $case $algorithm
  done
done
for kill in control server both; do
  for mode in abort finalize return pending; do run_mps device_mps_killed_${mode}_$kill "" $kill $mode; done
  run_mps device_mps_killed_each_$kill "-x CROSSRAIL_ONE_LAUNCHER=0" $kill return
done
for kill in server both; do run_mps device_mps_probe_$kill "" $kill probe; done
if [ -n "${CROSSRAIL_NCCL:-}" ]; then
  for scenario in all long operations ahead groups streams split shrink abort killed late off partial many threads ended graphs forks outlives \
      messages messages_ahead messages_mixed messages_abort messages_killed messages_leave messages_graphs; do run_nccl $scenario; done
fi
echo "$failures failed"
[ $failures = 0 ]

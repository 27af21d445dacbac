#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the modules inside an ns-3 source tree, as contributed modules, and runs their suites
# there. Usage: scripts/maintain/check-in-tree.sh NS3_DIR [-j N] [--mpi]
#
# NS3_DIR is a checkout of ns-3-dev. Its contrib/ gets a link to each module; only they and the ns-3
# modules they need are configured.
#
#   -j N    parallel jobs (default: one per core)
#   --mpi   configure with --enable-mpi, build SimAI_simulator in scratch/ as well, and run one
#           simulation in 2 and in 4 processes: the results are those of one
set -euo pipefail
trap 'echo "check-in-tree.sh: line $LINENO failed: $BASH_COMMAND" >&2' ERR
. "$(dirname "$0")/../show-help.sh"
repository=$(cd "$(dirname "$0")/../.." && pwd)

usage="Usage: scripts/maintain/check-in-tree.sh NS3_DIR [-j N] [--mpi]"
ns3_dir=${1:-}
jobs=$(nproc)
with_mpi=false
shift || true
while [ $# -gt 0 ]; do
  case $1 in
    -j) jobs=${2:?-j needs a number}; shift ;;
    --mpi) with_mpi=true ;;
    *) echo "check-in-tree.sh: unknown argument '$1'" >&2; echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
if [ -z "$ns3_dir" ] || [ ! -x "$ns3_dir/ns3" ] || [ ! -x "$ns3_dir/test.py" ]; then
  echo "check-in-tree.sh: '$ns3_dir' is not an ns-3 source tree (it has no ns3 or test.py)" >&2
  echo "$usage" >&2
  exit 2
fi

modules=(base rdma-qbb programs collectives astra-frontend simulator accl-cclo accl-collectives)
for module in "${modules[@]}"; do
  ln -sfnT "$repository/contrib/$module" "$ns3_dir/contrib/$module"
done

cd "$ns3_dir"
# ns-3 writes the stub of a header once and never again, even after the header has moved.
if [ -d build/include/ns3 ]; then
  # In a tree that never built these modules grep finds none, and says so by its status.
  { find build/include/ns3 -name '*.h' -exec grep -lE "contrib/($(IFS='|'; echo "${modules[*]}"))/" {} + || true; } | xargs -r rm
fi
list=$(IFS=';'; echo "${modules[*]}")
options=()
if $with_mpi; then
  options+=(--enable-mpi)
  ln -sfnT "$repository/scratch/SimAI_simulator.cc" scratch/SimAI_simulator.cc
fi
./ns3 configure "${options[@]}" --enable-tests --enable-modules "$list" \
  --filter-module-examples-and-tests "$list" -d default --disable-werror
cmake --build cmake-cache -j "$jobs" # "./ns3 build -j N" ignores N in some releases

# The names of the suites are what their sources register.
mapfile -t suites < <(grep -rhoP 'TestSuite\(\s*"\K[^"]+' contrib/rdma-qbb/test contrib/accl-cclo/test contrib/astra-frontend/test 2> /dev/null | sort -u)
if [ ${#suites[@]} -eq 0 ]; then
  echo "check-in-tree.sh: no test suite found" >&2
  exit 1
fi
for suite in "${suites[@]}"; do
  ./test.py --no-build --verbose-failed -s "$suite"
done
echo "check-in-tree.sh: ${#suites[@]} suites passed in $ns3_dir"
$with_mpi || exit 0

# One simulation in one process and in several.
program=$(find build/scratch -maxdepth 1 -type f -executable -name '*SimAI_simulator*' | sort | head -n 1)
mpicxx -O2 -shared -fPIC "$repository/contrib/programs/mpi/mpi-link.cc" -o "$(dirname "$program")/simai-mpi.so"
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
(cd "$results" && "$repository/topologies/gen_Topo_Template.py" -topo Spectrum-X -g 32 -gt A100 -bw 100Gbps > topology.log)
sed 's/all_gpus: 128/all_gpus: 32/; s/67108864/8388608/' "$repository/workloads/allReduce_DP128.txt" > "$results/workload.txt"
simulate=("$program" -w "$results/workload.txt" -n "$results"/Spectrum-X_32g_8gps_100Gbps_A100
  -c "$repository/conf/SimAI.conf" -q)
"${simulate[@]}" -t 1 -o "$results/1"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # in a container
for processes in 2 4; do
  mpirun --oversubscribe -np "$processes" "${simulate[@]}" -o "$results/$processes"
  if ! diff -rq --exclude run.json "$results/1" "$results/$processes"; then
    echo "check-in-tree.sh: $processes processes have other results than one" >&2
    exit 1
  fi
  echo "check-in-tree.sh: $processes processes have the results of one"
done

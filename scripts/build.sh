#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the programs and puts them into bin/ (debug: bin/debug/).
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat << TEXT
Usage: scripts/build.sh -c ns3|analytical|phy|rdma-qbb|all [--profile release|trained|debug] [--werror] [-j N]

  -c, --component  ns3         SimAI_simulator, qbb-flows, SimCCL and the other packet-level programs
                   analytical  SimAI_analytical
                   phy         SimAI_phynet
                   rdma-qbb    no program: the libraries of the fabric, into build/rdma-qbb (debug: build/rdma-qbb-debug),
                               for find_package(cluster-sim COMPONENTS rdma-qbb) of your own ns-3 program
                   all         every program there is
  --profile        release (default): optimised
                   trained: optimised across files, and a second time with profiles from short
                     benchmark runs; takes several times as long to build (GCC only)
                   debug: assertions, NS_LOG and sanitizers
  --werror         treat compiler warnings as errors
  -j N             parallel jobs (default: what cores and memory allow)
TEXT
}

fail() {
  echo "build.sh: $1" >&2
  exit 2
}

component=
profile=release
options=()
jobs=
while [ $# -gt 0 ]; do
  case $1 in
    -c | --component) component=${2:-}; shift ;;
    --profile) profile=${2:-}; shift ;;
    --werror) options+=(-DWARNINGS_AS_ERRORS=ON) ;;
    -j) jobs=${2:-}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; fail "unknown argument '$1'" ;;
  esac
  shift || fail "the last argument lacks its value"
done
case $profile in
  release | trained | debug) ;;
  *) fail "unknown profile '$profile'; expected release, trained or debug" ;;
esac
case $jobs in *[!0-9]*) fail "-j '$jobs' is not a number" ;; esac

# A program's name is the name of its source in scratch/.
shopt -s nullglob
programs=()
for source in scratch/*.cc; do
  name=$(basename "$source" .cc)
  case $name in
    SimAI_analytical) kind=analytical ;;
    SimAI_phynet) kind=phy ;;
    *) kind=ns3 ;;
  esac
  if [ "$component" = all ] || [ "$component" = "$kind" ]; then
    programs+=("$name")
  fi
done
case $component in
  ns3 | analytical | phy | rdma-qbb | all) ;;
  "") usage >&2; fail "-c is missing" ;;
  *) fail "unknown component '$component'; expected ns3, analytical, phy, rdma-qbb or all" ;;
esac
[ $component = rdma-qbb ] || [ ${#programs[@]} -gt 0 ] || fail "the '$component' backend is not part of this version"

if [ -z "$jobs" ]; then
  # A C++ compiler process needs up to 1.5 GB.
  by_memory=$(awk '/MemAvailable/ { print int($2 / 1500000) }' /proc/meminfo)
  jobs=$(nproc)
  [ "$by_memory" -ge "$jobs" ] || jobs=$((by_memory > 0 ? by_memory : 1))
fi

if [ $component = rdma-qbb ]; then
  folder=build/rdma-qbb
  [ "$profile" = release ] || folder+=-$profile
  scripts/setup.sh --fabric
  cmake --preset "$profile" -B "$folder" -DFABRIC_ONLY=ON ${options[@]+"${options[@]}"} > /dev/null
  cmake --build "$folder" -j "$jobs" --target rdma-qbb base
  echo "$folder: find_package(cluster-sim REQUIRED COMPONENTS rdma-qbb PATHS $PWD/$folder NO_DEFAULT_PATH)"
  exit 0
fi
if [ "$profile" = trained ]; then # it has benchmarks
  scripts/setup.sh --tests
else
  scripts/setup.sh
fi
link_time_optimization=OFF
[ "$profile" != trained ] || link_time_optimization=ON
options+=(-DLINK_TIME_OPTIMIZATION=$link_time_optimization)
if [ "$profile" = trained ]; then
  options=(-DWARNINGS_AS_ERRORS=OFF "${options[@]}") # what profiles lack is no mistake of the sources
  scripts/configure.sh trained "${options[@]}" -DTRAINING=record
  find build/trained -name '*.gcda' -delete
  cmake --build --preset trained -j "$jobs" --target bench-end-to-end
  echo "training"
  bench/run.py --train --build build/trained
  options+=(-DTRAINING=use)
fi
scripts/configure.sh "$profile" "${options[@]}"
cmake --build --preset "$profile" -j "$jobs" --target "${programs[@]}"

target=bin
[ "$profile" != debug ] || target=bin/debug
mkdir -p "$target"
for name in "${programs[@]}"; do
  cmake -E copy_if_different "build/$profile/bin/$name" "$target/$name"
  echo "$target/$name"
  case $name in
    SimAI_simulator | qbb-flows) # with what they load under mpirun
      [ ! -e "build/$profile/bin/simai-mpi.so" ] ||
        cmake -E copy_if_different "build/$profile/bin/simai-mpi.so" "$target/simai-mpi.so" ;;
  esac
  [ "$name" != collective-perf ] || cp -P "build/$profile/bin/"*_perf "$target/"
done

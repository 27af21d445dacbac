#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks that take too long for every commit: each source and header compiled alone, fuzzing, thousands of random scenarios,
# every way to compute the same results, the packages, coverage, and planted faults. Continues after a failure, and lists
# at the end what failed.
#
# Usage: scripts/maintain/nightly.sh [STEP...]
#
# Steps: alone fuzz scenarios ways reuse determinism races packages coverage mutants; without any, all of them. SCENARIOS (10000),
# WAYS (2000), REUSE (1000), FUZZ_SECONDS (60 per reader), MUTANTS (25 per area) and SEED (today's date) change how much is done.
# The outcome of the scenarios goes into results/nightly/scenarios.json; docs/source/lab.rst has the
# last one that was published.
set -uo pipefail
. "$(dirname "$0")/../show-help.sh"
cd "$(dirname "$0")/../.." || exit 2

seed=${SEED:-$(date +%Y%m%d)}
results=results/nightly
mkdir -p "$results"

builds_that_differ() {
  local level
  for level in O1 O2; do
    cmake -S . -B build/$level -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-$level \
      -DCMAKE_CXX_COMPILER_LAUNCHER=ccache > /dev/null &&
      cmake --build build/$level -j "$(nproc)" --target SimAI_simulator || return 1
  done
  scripts/configure.sh debug && cmake --build --preset debug -j "$(nproc)" --target SimAI_simulator
}

# Sources are compiled together elsewhere, where one may live on what another includes.
run_alone() {
  cmake -S . -B build/alone -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0 -DCMAKE_UNITY_BUILD=OFF \
    -DWARNINGS_AS_ERRORS=ON -DCMAKE_CXX_COMPILER_LAUNCHER=ccache > /dev/null &&
    cmake --build build/alone -j "$(nproc)" &&
    scripts/maintain/check-layers.py --alone
}
run_fuzz() { scripts/maintain/fuzz.sh "${FUZZ_SECONDS:-60}"; }
run_scenarios() {
  lab/scenarios.py --seed "$seed" --count "${SCENARIOS:-10000}" --jobs "$(nproc)" \
    --record "$results/scenarios.json" -o "$results/scenarios"
}
# Threads and processes share the cores: one scenario at a time.
run_ways() {
  lab/scenarios.py --compare ways --seed "$seed" --count "${WAYS:-2000}" --record "$results/ways.json" -o "$results/ways"
}
run_reuse() {
  lab/scenarios.py --compare reuse --seed "$seed" --count "${REUSE:-1000}" --record "$results/reuse.json" -o "$results/reuse"
}
run_determinism() {
  builds_that_differ &&
    bench/determinism.py --build O1=build/O1 --build O2=build/O2 --build checking=build/debug
}
# Threads under a sanitizer that finds two of them touching the same state. --fast-forward forks, where the sanitizer has a thread of its own.
run_races() {
  cmake -S . -B build/tsan -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS="-O1 -g1 -fsanitize=thread" \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache > /dev/null &&
    cmake --build build/tsan -j "$(nproc)" --target test-switch --target SimAI_simulator --target qbb-flows &&
    build/tsan/bin/test-switch --gtest_brief=1 --gtest_filter='*Threads*:Partitions.*:*ShareNothing*' &&
    TSAN_OPTIONS=die_after_fork=0 PROGRAM_DIR=$PWD/build/tsan/bin \
      /usr/bin/python3 -m pytest -q test/python/test_threads.py test/python/test_fast_forward.py -k same_bytes
}
# The package and the wheel, and the image in an empty Debian.
run_packages() {
  local root status=0
  scripts/maintain/package.sh || return 1
  root=$(mktemp -d) || return 1
  packaging/image-without-engine.py "$root" --package build/package/cluster-sim_*.deb \
    --build-arg DEBIAN="$(. /etc/os-release && echo "$VERSION_ID")" || status=1
  rm -rf "$root"
  return $status
}
run_coverage() { scripts/maintain/coverage.sh; }
run_mutants() { scripts/maintain/mutants.py --count "${MUTANTS:-25}" --seed "$seed" --record "$results/mutants.json"; }

all=(alone fuzz scenarios ways reuse determinism races packages coverage mutants)
[ $# -gt 0 ] || set -- "${all[@]}"
for step in "$@"; do
  case " ${all[*]} " in
    *" $step "*) ;;
    *) echo "nightly.sh: unknown step '$step'; expected some of: ${all[*]}" >&2; exit 2 ;;
  esac
done

scripts/build.sh -c all || exit 1
failed=()
for step in "$@"; do
  echo "== $step"
  start=$SECONDS
  "run_$step" || failed+=("$step")
  echo "== $step: $((SECONDS - start)) s"
done
[ ${#failed[@]} -eq 0 ] || { echo "nightly.sh: failed: ${failed[*]}" >&2; exit 1; }
echo "nightly.sh: all passed, seed $seed"

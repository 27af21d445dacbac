#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs missing packages, builds everything with warnings as errors and runs every test. Ends with the
# number of tests that passed, failed and were skipped, and why they were skipped.
#
# Usage: scripts/test.sh [--checking]
#
#   (nothing)    the optimised build: its C++ and Python tests, after the style check and the quick start
#   --checking   the checking build: its C++ tests and 200 random scenarios under assertions and sanitizers,
#                and how much of the code they run
set -euo pipefail
. "$(dirname "$0")/show-help.sh"
cd "$(dirname "$0")/.."

profile=release
case ${1:-} in
  "") ;;
  --checking) profile=debug ;;
  *) echo "test.sh: unknown argument '$1'; expected --checking or nothing" >&2; exit 2 ;;
esac

# Prints what a step cost. CPU seconds tell more than those on the clock when others use the machine.
step() {
  local name=$1 TIMEFORMAT="== $1: %0R s, CPU: %0U s and %0S s in the system"
  shift
  echo "== $name"
  time "$@"
}

build_and_run() {
  local target=$1 results=$PWD/build/$profile/test-results status=0
  scripts/configure.sh "$profile" -DWARNINGS_AS_ERRORS=ON
  step "$profile: build" cmake --build --preset "$profile" -j "$(nproc)" --target "$target"
  rm -rf "$results"
  trap status=1 INT # which ends ctest; the tests that have ended are counted then, too
  step "$profile: tests" ctest --preset "$profile" -j "$(nproc)" --output-on-failure \
    --output-junit "$results/ctest.xml" || status=1
  test/summary.py "$results" || status=1
  trap - INT
  return $status
}

step "packages" scripts/setup.sh --tests
if [ "$profile" = release ]; then
  step "style" scripts/maintain/check-style.sh
  step "sources that changed last, each alone" scripts/maintain/check-alone.py --most 12
  step "programs" scripts/build.sh -c all --werror
  step "quick start" scripts/quickstart.sh
  build_and_run all
else
  [ ! -d build/debug ] || find build/debug -name "*.gcda" -delete # counts of earlier runs
  build_and_run tests
  step "coverage" scripts/maintain/coverage.sh --report
fi
echo "== all tests passed in $SECONDS s"

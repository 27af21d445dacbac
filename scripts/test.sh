#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs what is missing, builds everything with warnings as errors and runs every test: the
# optimised build first, then the checking build (assertions and sanitizers), which also counts what the
# tests run.
#
# Usage: scripts/test.sh [--no-debug]
set -euo pipefail
. "$(dirname "$0")/show-help.sh"
cd "$(dirname "$0")/.."

with_debug=true
case ${1:-} in
  "") ;;
  --no-debug) with_debug=false ;;
  *) echo "test.sh: unknown argument '$1'; expected --no-debug or nothing" >&2; exit 2 ;;
esac

# Says what a step cost, too: CPU seconds tell more than those on the clock when others use the machine.
step() {
  local name=$1 TIMEFORMAT="== $1: %0R s, CPU: %0U s and %0S s in the system"
  shift
  echo "== $name"
  time "$@"
}

build_and_run() {
  local profile=$1 target=$2
  scripts/configure.sh "$profile" -DWARNINGS_AS_ERRORS=ON
  step "$profile: build" cmake --build --preset "$profile" -j "$(nproc)" --target "$target"
  step "$profile: tests" ctest --preset "$profile" -j "$(nproc)" --output-on-failure
}

step "packages" scripts/setup.sh
step "style" scripts/check-style.sh
step "programs" scripts/build.sh -c all --werror
step "quick start" scripts/quickstart.sh
build_and_run release all
if $with_debug; then
  find build -path 'build/debug/*' -name '*.gcda' -delete # counts of earlier runs
  build_and_run debug tests
  step "coverage" scripts/coverage.sh --report
fi
echo "== all tests passed in $SECONDS s"

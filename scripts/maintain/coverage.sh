#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Says which lines and branches of the modules the tests run, with gcovr. The checking build counts them: in
# its C++ tests and in the random scenarios.
#
# Usage: scripts/maintain/coverage.sh [--report | --update]
#
#   --report   the tests have just run: only look at what they counted
#   --update   run the tests, and write test/coverage.txt
#
# Fails below 90% of lines or 75% of branches, and more than 1.5% below test/coverage.txt. Branches that only
# an exception, a log or an assertion takes are not counted; nor are tests, programs and generated sources.
# The report is build/debug/coverage/index.html.
set -euo pipefail
. "$(dirname "$0")/../show-help.sh"
cd "$(dirname "$0")/../.."

case ${1:-} in
  "" | --report | --update) mode=${1:-} ;;
  *) echo "coverage.sh: unknown argument '$1'; expected --report, --update or nothing" >&2; exit 2 ;;
esac
command -v gcovr > /dev/null || { echo "coverage.sh: gcovr is not installed; expected what scripts/setup.sh --tests installs" >&2; exit 2; }

build=build/debug
if [ "$mode" != --report ]; then
  scripts/configure.sh debug
  cmake --build --preset debug -j "$(nproc)" --target tests
  find $build -name '*.gcda' -delete
  ctest --preset debug -j "$(nproc)"
fi

report=$build/coverage
mkdir -p $report
look() { # LINES BRANCHES WHY
  # Where threads lost a count, a difference of counts may be below zero, which gcovr cannot read.
  gcovr --gcov-ignore-parse-errors --root . --filter 'contrib/[^/]*/(?!test/|examples/|physical/|mpi/)' --exclude-unreachable-branches --exclude-throw-branches \
    --exclude-branches-by-pattern '.*\b(NS_LOG|NS_ASSERT|NS_ABORT)\w*\(.*' -j "$(nproc)" \
    --html-details $report/index.html --json-summary $report/summary.json $build/contrib > $report/gcovr.log
  /usr/bin/python3 - $report/summary.json "$@" << 'TEXT'
import json, sys

summary, status = json.load(open(sys.argv[1])), 0
for kind, name, least in (("line", "lines", sys.argv[2]), ("branch", "branches", sys.argv[3])):
    covered, total = summary[kind + "_covered"], summary[kind + "_total"]
    share = 100 * covered / total
    print(f"{share:.1f}% of {name} are run ({covered} of {total})")
    if share < float(least):
        print(f"coverage.sh: {share:.1f}% of {name} are run; expected {least}% ({sys.argv[4]})", file=sys.stderr)
        status = 1
sys.exit(status)
TEXT
}
least() { # lines or branches, and the goal; threads take turns differently each time, which changes the last digit
  awk -v name="$1" -v goal="$2" '$1 == name { print ($2 - 1.5 > goal ? $2 - 1.5 : goal) }' test/coverage.txt
}

if [ "$mode" = --update ]; then
  look 0 0 "any"
  /usr/bin/python3 - $report/summary.json > test/coverage.txt << 'TEXT'
import json, sys

summary = json.load(open(sys.argv[1]))
print("# Written by scripts/maintain/coverage.sh --update: per cent of lines and of branches that the tests run.")
for kind, name in (("line", "lines"), ("branch", "branches")):
    print(name, round(100 * summary[kind + "_covered"] / summary[kind + "_total"], 1))
TEXT
  exit
fi
look "$(least lines 90)" "$(least branches 75)" "the least of test/coverage.txt and 90% and 75%"

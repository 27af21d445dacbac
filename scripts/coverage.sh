#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Says which lines and branches of the modules the tests run, with gcovr. The checking build counts them.
#
# Usage: scripts/coverage.sh [--report | --update]
#
#   --report   the C++ tests have just run: look at no others
#   --update   run the C++ tests, and write test/coverage.txt
#
# Without an argument the C++ tests run, and the Python tests of the programs with the programs of the
# checking build; all together must reach 90% of lines and 75% of branches. What the C++ tests reach alone
# may not fall 1.5% below test/coverage.txt. Branches that only an exception, a log or an assertion
# takes are not counted. The report is build/debug/coverage/index.html.
set -euo pipefail
. "$(dirname "$0")/show-help.sh"
cd "$(dirname "$0")/.."

case ${1:-} in
  "" | --report | --update) mode=${1:-} ;;
  *) echo "coverage.sh: unknown argument '$1'; expected --report, --update or nothing" >&2; exit 2 ;;
esac
# Those that ask for nothing which the checking build does otherwise.
of_programs=(simulator collective_perf analytical accl flow_level inference qbb_flows scenarios several_nics)
command -v gcovr > /dev/null || { echo "coverage.sh: gcovr is not installed; expected what scripts/setup.sh installs" >&2; exit 2; }

build=build/debug
if [ "$mode" != --report ]; then
  scripts/configure.sh debug
  cmake --build --preset debug -j "$(nproc)" --target tests SimAI_simulator SimAI_analytical SimCCL collective-perf qbb-flows
  find $build -name '*.gcda' -delete
  ctest --preset debug -j "$(nproc)"
fi

report=$build/coverage
mkdir -p $report
look() { # LINES BRANCHES WHY
  gcovr --root . --filter 'contrib/[^/]*/(model|helper)/' --exclude-unreachable-branches --exclude-throw-branches \
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
recorded() { # lines or branches; threads take turns differently each time, which changes the last digit
  awk -v name="$1" '$1 == name { print $2 - 1.5 }' test/coverage.txt
}

if [ "$mode" = --update ]; then
  look 0 0 "any"
  /usr/bin/python3 - $report/summary.json > test/coverage.txt << 'TEXT'
import json, sys

summary = json.load(open(sys.argv[1]))
print("# Written by scripts/coverage.sh --update: per cent of lines and of branches that the C++ tests run.")
for kind, name in (("line", "lines"), ("branch", "branches")):
    print(name, round(100 * summary[kind + "_covered"] / summary[kind + "_total"], 1))
TEXT
  exit
fi
echo "C++ tests:"
look "$(recorded lines)" "$(recorded branches)" test/coverage.txt
[ "$mode" != --report ] || exit 0
PROGRAM_DIR=$PWD/$build/bin SHARED_DATA_DIR=$PWD/../shared/data \
  /usr/bin/python3 -m pytest -q -p no:cacheprovider -k "not seconds" $(printf "test/python/test_%s.py " "${of_programs[@]}")
echo "and tests of the programs:"
look 90 75 "the project's least"

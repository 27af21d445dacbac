#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the modules inside an ns-3 source tree, as contributed modules, and runs their suites
# there. Usage: scripts/check-in-tree.sh NS3_DIR [-j N]
#
# NS3_DIR is a checkout of ns-3-dev. Its contrib/ gets a link to each module; only they and the ns-3
# modules they need are configured.
set -euo pipefail
trap 'echo "check-in-tree.sh: line $LINENO failed: $BASH_COMMAND" >&2' ERR
. "$(dirname "$0")/show-help.sh"
repository=$(cd "$(dirname "$0")/.." && pwd)

ns3_dir=${1:-}
jobs=$(nproc)
[ "${2:-}" != -j ] || jobs=${3:?-j needs a number}
if [ -z "$ns3_dir" ] || [ ! -x "$ns3_dir/ns3" ] || [ ! -x "$ns3_dir/test.py" ]; then
  echo "check-in-tree.sh: '$ns3_dir' is not an ns-3 source tree (it has no ns3 or test.py)" >&2
  echo "Usage: scripts/check-in-tree.sh NS3_DIR [-j N]" >&2
  exit 2
fi

modules=(rdma-qbb accl-cclo astra-frontend)
for module in "${modules[@]}"; do
  ln -sfnT "$repository/contrib/$module" "$ns3_dir/contrib/$module"
done

cd "$ns3_dir"
# ns-3 writes the stub of a header once and never again, even after the header has moved.
if [ -d build/include/ns3 ]; then
  # In a tree that never built these modules grep finds none, and says so by its status.
  { find build/include/ns3 -name '*.h' -exec grep -lE 'contrib/(rdma-qbb|accl-cclo|astra-frontend)/' {} + || true; } | xargs -r rm
fi
list=$(IFS=';'; echo "${modules[*]}")
./ns3 configure --enable-tests --enable-modules "$list" \
  --filter-module-examples-and-tests "$list" -d default --disable-werror
./ns3 build -j "$jobs"

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

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Configures build/PROFILE; afresh if the checkout was copied or moved after its last build.
#
# Usage: scripts/configure.sh release|trained|debug [CMAKE_OPTION ...]
set -euo pipefail
. "$(dirname "$0")/show-help.sh"
cd "$(dirname "$0")/.."

profile=${1:-}
case $profile in
  release | trained | debug) shift ;;
  *) echo "configure.sh: unknown profile '$profile'; expected release, trained or debug" >&2; exit 2 ;;
esac
cache=build/$profile/CMakeCache.txt
if [ -f "$cache" ]; then
  configured=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")
  if [ ! "$configured" -ef . ] || [ ! -d "$configured" ]; then
    echo "configure.sh: build/$profile was made in $configured and starts afresh"
    rm -rf "build/$profile"
  fi
fi
cmake --preset "$profile" "$@" > /dev/null

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks the formatting and the layering of the sources. Usage: scripts/maintain/check-style.sh [--fix]
set -euo pipefail
. "$(dirname "$0")/../show-help.sh"
cd "$(dirname "$0")/../.."

case ${1:-} in
  "") mode=(--dry-run --Werror) ;;
  --fix) mode=(-i) ;;
  *) echo "check-style.sh: unknown argument '$1'; expected --fix or nothing" >&2; exit 2 ;;
esac
status=0
if command -v clang-format-14 > /dev/null; then
  git ls-files -z '*.cc' '*.h' | xargs -0 -r -n 40 -P "$(nproc)" clang-format-14 "${mode[@]}" || status=1
else # other versions format otherwise
  echo "check-style.sh: the format is not checked without clang-format-14, which scripts/setup.sh --develop installs" >&2
fi
scripts/maintain/check-layers.py || status=1
scripts/maintain/check-python.py || status=1
exit $status

# SPDX-License-Identifier: GPL-2.0-only
#
# To be sourced first by a script: -h or --help anywhere prints the comment at the script's top and exits.
for argument in "$@"; do
  case $argument in
    -h | --help)
      awk 'NR > 3 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"
      exit 0
      ;;
  esac
done

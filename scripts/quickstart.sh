#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# From a fresh clone to a result: installs packages, builds, generates a Spectrum-X cluster of 128
# A100 with 100 Gb/s NICs, runs AllReduces of several sizes over NVLink (groups of 8) and over the
# fabric (groups of 16) at packet level, and prints their bandwidths. Usage: scripts/quickstart.sh
set -euo pipefail
. "$(dirname "$0")/show-help.sh"
cd "$(dirname "$0")/.."

[ $# -eq 0 ] || { echo "quickstart.sh: unexpected argument '$1'; expected none" >&2; exit 2; }
scripts/build.sh -c all

results=results/quickstart
topology=Spectrum-X_128g_8gps_100Gbps_A100
mkdir -p "$results"
(cd "$results" && ../../topologies/gen_Topo_Template.py \
  -topo Spectrum-X -g 128 -gt A100 -bw 100Gbps -nvbw 2400Gbps --fit)

bin/SimAI_simulator -w workloads/microAllReduce.txt -n "$results/$topology" -c conf/SimAI.conf -o "$results"

echo
scripts/busbw_table.py "$results"
echo
echo "All results are in $results/; README.md says where to go next."

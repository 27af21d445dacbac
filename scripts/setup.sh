#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs the Debian packages that building, testing, plotting and the documentation need.
# Asks nothing, and does nothing when everything is there.
#
# Usage: scripts/setup.sh [--with-slurm]
#   --with-slurm   also Slurm. It brings daemons, so only CI installs it; without it, its tests are skipped
set -euo pipefail
. "$(dirname "$0")/show-help.sh"

packages=(
  # the simulator
  build-essential cmake ninja-build ccache git
  libns3-dev ns3
  libboost1.81-dev libboost-program-options1.81-dev libfmt-dev nlohmann-json3-dev libsqlite3-dev libyaml-cpp-dev zlib1g-dev
  libprotobuf-dev protobuf-compiler python3-protobuf libssl-dev
  # its physical back end
  pkg-config libfabric-dev libopenmpi-dev openmpi-bin iproute2
  # its tests
  libgtest-dev libgmock-dev libbenchmark-dev clang-format-14 clang libclang-rt-14-dev python3-pytest python3-pytest-xdist python3-pytest-rerunfailures python3-pytest-timeout mypy
  tshark valgrind chromium gcovr
  # packages
  lintian help2man mmdebstrap python3-venv python3-pip python3-setuptools python3-wheel
  # topologies, analysis, plots, documentation
  python3 python3-pydantic python3-numpy python3-pandas python3-matplotlib python3-yaml python3-jinja2 python3-networkx snakemake
  python3-sphinx python3-sphinx-rtd-theme doxygen
)

case ${1:-} in
  "") ;;
  --with-slurm) packages+=(slurm-wlm slurm-wlm-basic-plugins) ;;
  *) echo "setup.sh: unknown argument '$1'; expected --with-slurm or nothing" >&2; exit 2 ;;
esac

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
  echo "setup.sh: this is not a Debian system; install the counterparts of these packages by hand:" >&2
  printf '  %s\n' "${packages[@]}" >&2
  exit 2
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo > /dev/null; then
    echo "setup.sh: run as root, or install sudo; missing packages: ${missing[*]}" >&2
    exit 2
  fi
  as_root=(sudo)
fi

echo "setup.sh: installing ${missing[*]}"
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
         apt-get install -y -q --no-install-recommends "${missing[@]}")
# The package lists may be absent (a fresh container) or old: refresh them only when needed.
if ! "${install[@]}" > /dev/null 2>&1; then
  "${as_root[@]}" apt-get update -q
  if ! "${install[@]}"; then
    echo "setup.sh: installation failed; Debian 12 (bookworm) or newer is needed" >&2
    exit 2
  fi
fi

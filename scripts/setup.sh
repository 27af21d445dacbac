#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs the packages that the simulator needs, on Debian 12 or newer and Ubuntu 24.04 or newer. Asks nothing, and does
# nothing when everything is there. It says first how many packages come and how large they are, and waits while another
# program installs packages.
#
# Usage: scripts/setup.sh [--fabric | --tests | --develop] [--with-slurm] [--dry-run]
#
#   (nothing)      what building and running needs: programs, commands, tables and plots
#   --fabric       what the fabric alone needs (scripts/build.sh -c rdma-qbb)
#   --tests        also what scripts/test.sh needs, and Snakemake, which runs sweeps on clusters
#   --develop      also packages, style, fuzzing, C++ documentation, and tests with a browser and Wireshark
#   --with-slurm   also Slurm. It brings daemons, so only CI installs it; without it, its tests are skipped
#   --dry-run      only say what would be installed
set -euo pipefail
. "$(dirname "$0")/show-help.sh"

longest_wait=600 # seconds for another program that installs packages

# ns-3's CMake files name the programs of the package ns3.
fabric=(build-essential cmake ninja-build ccache git libns3-dev ns3 BOOST libfmt-dev libmd-dev)
simulator=(
  BOOST-PROGRAM-OPTIONS nlohmann-json3-dev libsqlite3-dev libyaml-cpp-dev zlib1g-dev
  libprotobuf-dev protobuf-compiler python3-protobuf
  # its physical back end
  pkg-config libfabric-dev libopenmpi-dev openmpi-bin iproute2
  # topologies, analysis, plots
  python3 python3-pydantic python3-numpy python3-pandas python3-matplotlib python3-yaml python3-jinja2 python3-networkx
)
tests=(
  libgtest-dev libgmock-dev libbenchmark-dev mypy gcovr snakemake python3-sphinx python3-sphinx-rtd-theme
  python3-pytest python3-pytest-xdist python3-pytest-rerunfailures python3-pytest-timeout
)
develop=(
  clang-format-14 clang LIBFUZZER tshark valgrind chromium
  lintian help2man mmdebstrap python3-venv python3-pip python3-setuptools python3-wheel
  doxygen
)

wanted=("${fabric[@]}" "${simulator[@]}")
optional=()
dry_run=false
for argument in "$@"; do
  case $argument in
    --fabric) wanted=("${fabric[@]}") ;;
    --tests) wanted+=("${tests[@]}") ;;
    --develop) wanted+=("${tests[@]}"); optional=("${develop[@]}") ;;
    --with-slurm) wanted+=(slurm-wlm slurm-wlm-basic-plugins) ;;
    --dry-run) dry_run=true ;;
    *)
      echo "setup.sh: unknown argument '$argument'; expected --fabric, --tests, --develop, --with-slurm or --dry-run" >&2
      exit 2 ;;
  esac
done

fail() {
  echo "setup.sh: $1" >&2
  exit 2
}

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
  echo "setup.sh: this is not a Debian system; install the counterparts of these packages by hand (BOOST: 1.81 or newer):" >&2
  printf '  %s\n' "${wanted[@]}" >&2
  exit 2
fi
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' | sed -n 's/^installed //p')

# Asks apt once for all packages, as a question costs it a second where its cache is not its own.
ask_apt() {
  candidates=$(apt-cache policy libboost-dev libboost-program-options-dev clang $(apt-cache pkgnames libboost1.) \
    $(apt-cache pkgnames libboost-program-options1.) $(apt-cache pkgnames libclang-rt-) \
    "${wanted[@]}" ${optional[@]+"${optional[@]}"} |
    awk '/^[^ ]/ { sub(":$", ""); name = $1 } $1 == "Candidate:" && $2 != "(none)" { print name, $2 }')
}

# The version that apt would install, or nothing.
candidate() {
  sed -n "s/^$1 //p" <<< "$candidates"
}

# Boost.Unordered has flat maps since 1.81. Debian 12's default is older, and 1.81 is beside it.
boost() { # what stands between "libboost" and the version or "-dev"
  local default older
  if grep -qE "^libboost$1(1\.(8[1-9]|9[0-9])|)-dev (1\.8[1-9]|1\.9)" <<< "$installed"; then
    return
  fi
  default=$(candidate "libboost$1-dev")
  if [ -n "$default" ] && dpkg --compare-versions "$default" ge 1.81; then
    echo "libboost$1-dev"
    return
  fi
  older=$(cut -d ' ' -f 1 <<< "$candidates" | grep -E "^libboost${1}1\\.(8[1-9]|9[0-9])-dev$" | sort | head -n 1)
  echo "${older:-libboost${1}1.81-dev}"
}

# The package for a word of the lists above, or nothing if it is installed.
package_for() {
  local clang
  case $1 in
    BOOST) boost "" ;;
    BOOST-PROGRAM-OPTIONS) boost -program-options ;;
    LIBFUZZER)
      if ! grep -q '^libclang-rt-[0-9]*-dev ' <<< "$installed"; then
        clang=$(candidate clang)
        clang=${clang#*:}
        echo "libclang-rt-${clang%%[.-]*}-dev"
      fi ;;
    *) grep -q "^$1 " <<< "$installed" || echo "$1" ;;
  esac
}

# Sets the packages that are to be installed, and those that this system does not have.
choose() {
  local word name
  missing=() unknown=() left_out=() candidates=
  for word in "${wanted[@]}" ${optional[@]+"${optional[@]}"}; do
    [ -z "$(package_for "$word")" ] || { ask_apt; break; }
  done
  for word in "${wanted[@]}" ${optional[@]+"${optional[@]}"}; do
    name=$(package_for "$word")
    if [ -z "$name" ]; then
      continue
    elif [ -n "$(candidate "$name")" ]; then
      missing+=("$name")
    elif [[ " ${optional[*]-} " = *" $word "* ]]; then
      left_out+=("$name")
    else
      unknown+=("$name")
    fi
  done
}

# A program that holds one of apt's locks, as "NAME (process N)", or nothing.
holder() {
  local lists archives status file inode process
  eval "$(apt-config shell lists Dir::State::Lists/d archives Dir::Cache::Archives/d status Dir::State::status/f)"
  for file in "${status%/*}/lock-frontend" "${status%/*}/lock" "$lists/lock" "$archives/lock"; do
    inode=$(stat -c %i "$file" 2> /dev/null) || continue
    process=$(awk -v inode="$inode" '$2 == "POSIX" && $4 == "WRITE" { split($6, device, ":"); if (device[3] == inode) { print $5; exit } }' /proc/locks)
    if [ -n "$process" ]; then
      echo "$(cat "/proc/$process/comm" 2> /dev/null || echo "a program") (process $process)"
      return
    fi
  done
}

# Waits while another program installs packages, as each new machine does in its first minutes.
wait_for_others() {
  local who seconds=0
  while who=$(holder) && [ -n "$who" ]; do
    [ $seconds -gt 0 ] || echo "setup.sh: waiting for $who, which is installing packages (at most $longest_wait s)"
    [ $seconds -lt $longest_wait ] || fail "$who has been installing packages for $seconds s; expected it to end"
    sleep 2
    seconds=$((seconds + 2))
  done
}

choose
[ ${#missing[@]} -gt 0 ] || [ ${#unknown[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ] && ! $dry_run; then
  command -v sudo > /dev/null || fail "run as root, or install sudo; missing packages: ${missing[*]-} ${unknown[*]-}"
  as_root=(sudo)
fi
apt_get=(${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -q -o "DPkg::Lock::Timeout=$longest_wait")

update() {
  wait_for_others
  "${apt_get[@]}" update > /dev/null || fail "apt-get update failed; expected a system that reaches its package archive"
  choose
}

# The lists of packages are absent in a fresh container.
updated=false
if [ ${#unknown[@]} -gt 0 ] && ! $dry_run; then
  update
  updated=true
fi
if [ ${#unknown[@]} -gt 0 ]; then
  system=$(. /etc/os-release && echo "$PRETTY_NAME")
  hint="expected Debian 12 or newer, or Ubuntu 24.04 or newer with \"universe\""
  ! $dry_run || hint+=", after apt-get update"
  fail "$system has no package ${unknown[*]}; $hint"
fi
[ ${#left_out[@]} -eq 0 ] || echo "setup.sh: this system has no package ${left_out[*]}, which only maintainers need"
[ ${#missing[@]} -gt 0 ] || exit 0

# As "311 packages, 250 MB to download, 1202 MB on the disk".
amount() {
  apt-get install --assume-no --no-install-recommends -o Debug::NoLocking=1 "${missing[@]}" 2> /dev/null |
    awk '/newly installed/ { packages = $3 } /^Need to get/ { sub("/.*", "", $5); download = $4 " " $5 }
         /disk space will be used/ { disk = $4 " " $5 }
         END { print packages " packages, " download " to download, " disk " on the disk" }' || true
}
verb=installing
! $dry_run || verb="would install"
echo "setup.sh: $verb $(amount): ${missing[*]}"
! $dry_run || exit 0

install=("${apt_get[@]}" install -y --no-install-recommends)
wait_for_others
# Old lists name versions that the archive no longer has: refresh them only when needed.
if ! "${install[@]}" "${missing[@]}" > /dev/null 2>&1; then
  $updated || update
  wait_for_others
  "${install[@]}" "${missing[@]}" || fail "installation failed; the lines of apt-get above say why"
fi

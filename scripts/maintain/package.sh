#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the Debian package and the Python wheel into build/package/, and tries both: the package is
# unpacked into an empty folder and its programs run there; the wheel is installed into a new virtual
# environment. lintian reads the package. Programs are compiled with checks against overflows
# (HARDENING); the package says what it is made of (cluster-sim.spdx.json).
#
# Usage: scripts/maintain/package.sh [--no-checks]
#
#   --no-checks   build the package only
set -euo pipefail
. "$(dirname "$0")/../show-help.sh"
cd "$(dirname "$0")/../.."

checks=true
case ${1:-} in
  "") ;;
  --no-checks) checks=false ;;
  *) echo "package.sh: unknown argument '$1'; expected --no-checks or nothing" >&2; exit 2 ;;
esac

if $checks; then scripts/setup.sh --develop; else scripts/setup.sh; fi
command -v help2man > /dev/null || { echo "package.sh: help2man is not installed; expected what scripts/setup.sh --develop installs" >&2; exit 2; }
build=build/package
version=$(cat VERSION)
programs=()
for source in scratch/*.cc; do
  programs+=("$(basename "$source" .cc)")
done
cmake --preset release -B "$build" -DHARDENING=ON -DWARNINGS_AS_ERRORS=OFF > /dev/null
cmake --build "$build" -j "$(nproc)" --target "${programs[@]}"
for program in "${programs[@]}"; do
  # Addresses of functions are read-only once the program runs, and frames of functions are guarded. (grep -q would end
  # before readelf, and the pipe with an error.)
  readelf -d "$build/bin/$program" | grep BIND_NOW > /dev/null || { echo "package.sh: $program is not hardened" >&2; exit 1; }
  readelf -Ws --dyn-syms "$build/bin/$program" | grep __stack_chk_fail > /dev/null || { echo "package.sh: $program has no guards" >&2; exit 1; }
done
scripts/maintain/sbom.py "${programs[@]/#/$build/bin/}" -o "$build/cluster-sim.spdx.json"

rm -rf "$build/man" "$build"/cluster-sim_*.deb
mkdir -p "$build/man"
man_page() { # NAME PROGRAM
  help2man --no-info --no-discard-stderr --version-string="$version" --source=cluster-sim \
    --name="part of a packet-level simulator of AI clusters" \
    --output="$build/man/$1.1" "$2"
  gzip -9 -n "$build/man/$1.1"
}
commands=() # programs under all their names; what they load is none
for program in "$build"/bin/*; do
  [[ ! -f $program || $program = *.so ]] || commands+=("$(basename "$program")")
done
for name in "${commands[@]}"; do
  man_page "$name" "$build/bin/$name"
done
for script in scripts/*.py; do
  name=$(basename "$script" .py)
  [ ! -x "$script" ] || man_page "cluster-sim-${name//_/-}" "$script"
done
man_page cluster-sim-topology topologies/gen_Topo_Template.py

{
  printf 'cluster-sim (%s) unstable; urgency=medium\n\n  * See CHANGES.md and RELEASE_NOTES.md.\n\n' "$version"
  printf ' -- the authors <maintainers@cluster-sim.invalid>  %s\n' "$(git log -1 --format=%aD 2> /dev/null || date -R)"
} | gzip -9 -n > "$build/changelog.gz"
(cd "$build" && cpack -G DEB > cpack.log) || { cat "$build/cpack.log" >&2; exit 1; }
package=$(ls "$build"/cluster-sim_*.deb)
echo "$package"
$checks || exit 0

lintian --fail-on error,warning "$package"

scratch=$(mktemp -d)
checkout=$PWD
trap 'rm -rf "$scratch" "$checkout/python/clustersim.egg-info"' EXIT
dpkg-deb -x "$package" "$scratch/root"
for name in "${commands[@]}"; do
  "$scratch/root/usr/bin/$name" --help > /dev/null
done
(
  cd "$scratch"
  export PATH=$scratch/root/usr/bin:$PATH
  cluster-sim-topology -topo Spectrum-X -g 16
  SimAI_simulator -q -w root/usr/lib/cluster-sim/workloads/microAllReduce_16g.txt --network flow \
    -c root/usr/lib/cluster-sim/conf/SimAI.conf -n Spectrum-X_16g_8gps_400Gbps_H100 -o run
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -np 2 \
    SimAI_simulator -q -w root/usr/lib/cluster-sim/workloads/microAllReduce_16g.txt \
    -c root/usr/lib/cluster-sim/conf/SimAI.conf -n Spectrum-X_16g_8gps_400Gbps_H100 -o processes
  cluster-sim-busbw-table run
  SimAI_analytical -q -w root/usr/lib/cluster-sim/workloads/microAllReduce_16g.txt -g 16 -r_f estimate -v
  ls estimate/breakdown.svg
  # Every command of the package, the scripts' too, and one tiny sweep.
  for command in root/usr/bin/cluster-sim-*; do
    "$command" --help > /dev/null || { echo "package.sh: $command does not print its help" >&2; exit 1; }
  done
  cat > sweep.yaml << 'TEXT'
topologies: [{name: sx, generate: -topo Spectrum-X -g 16}]
conf: [root/usr/lib/cluster-sim/conf/SimAI.conf]
workloads: [root/usr/lib/cluster-sim/workloads/microAllReduce_16g.txt]
network: [{name: flow, flags: --network flow}]
TEXT
  cluster-sim-sweep sweep.yaml -o sweep
)

/usr/bin/python3 -m venv --system-site-packages "$scratch/venv"
"$scratch/venv/bin/pip" wheel -q --no-deps --no-build-isolation -w "$build" .
"$scratch/venv/bin/pip" install -q --no-deps --no-index --find-links "$build" clustersim
cd "$scratch" # where Python imports the wheel, not the checkout
PROGRAM_DIR=$scratch/root/usr/bin "$scratch/venv/bin/python" - << 'TEXT'
import clustersim
assert "venv" in clustersim.__file__, clustersim.__file__
run = clustersim.simulate("root/usr/lib/cluster-sim/workloads/microAllReduce_16g.txt",
                          "Spectrum-X_16g_8gps_400Gbps_H100", conf="root/usr/lib/cluster-sim/conf/SimAI.conf",
                          output="api", network="flow")
print(f"wheel: {len(run.collectives)} collectives simulated from Python")
TEXT
"$scratch/venv/bin/cluster-sim-topology" -topo Clos2 -g 8 -o wheel-topology
"$scratch/venv/bin/cluster-sim-busbw-table" api

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks which file includes which, over all modules.

- rdma-qbb includes nothing of the other modules; programs (what all programs go through, and qbb-flows) and accl-cclo nothing of
  astra-frontend, nor of each other.
- In accl-cclo's model, control -> data -> network -> interface: no include points up.
- In rdma-qbb's model, host and switch -> port -> engine -> packet: no include points up. Plug-ins (congestion, recovery,
  routing) know host or switch, which know of them their interfaces only.
- Only the link engine knows which events are left out: its words appear nowhere else. The words by which ports, hosts and
  switches speak with it are theirs alone, not of plug-ins, readers or helpers. Only hosts and switches fetch ahead besides it.
- A receiver of RDMA messages knows no type of the sender's, and only the control plane visits another host.
- No two headers include each other, and the source of a base class includes none of its subclasses. Two pairs of files
  (header and source) include each other only where they are one thing in two files; these are listed.
- In astra-frontend, workload -> inference -> system -> collective and nccl -> the network API: no include points
  up, and none of these folders reaches an ns-3 header, directly or through a header of ours.
- Only single ns-3 headers are included, never a module header.
- Header names are unique over all modules, and every source names its licence.
- Who uses a type of ours includes its header, directly or through others: sources are compiled together, where one
  may live on what another includes. scripts/nightly.sh compiles each alone.
- With --alone, every header compiles by itself, or its source includes it first (scripts/nightly.sh runs that).
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)

# A folder of astra-frontend/model, and the folders it may include.
MAY_INCLUDE = {
    "collective": {"collective", "network-api"},
    "nccl": {"nccl", "collective", "network-api"},
    "system": {"system", "nccl", "collective", "network-api"},
    "inference": {"inference", "system", "nccl", "collective", "network-api"},
    "workload": {"workload", "inference", "system", "nccl", "collective", "network-api"},
}


# The same for rdma-qbb/model; "interface" is INTERFACES.
MODEL_MAY_INCLUDE = {
    "attribute": set(),
    "packet": set(),
    "engine": {"packet"},
    "port": {"engine", "packet", "attribute"},
    "interface": {"engine", "packet", "input"},
    "switch": {"port", "engine", "packet", "interface", "attribute"},
    "host": {"port", "engine", "packet", "interface", "attribute"},
    "congestion": {"interface", "host", "engine", "packet", "input"},
    "recovery": {"interface", "host", "engine", "packet", "input"},
    "routing": {"interface", "switch", "packet", "input", "attribute"},
    "in-network": {"interface", "host", "switch", "port", "engine", "packet"},
    "input": {"packet", "attribute", "interface"},
}
# The same for accl-cclo/model.
ENGINE_MAY_INCLUDE = {
    "interface": set(),
    "network": {"interface"},
    "data": {"network", "interface"},
    "control": {"data", "network", "interface"},
}
# What every layer may use, as it includes nothing of ours.
FOR_ALL = {"input-error.h", "shared-log.h"}
# The modules a module must not know.
MUST_NOT_KNOW = {"rdma-qbb": {"programs", "accl-cclo", "astra-frontend"}, "programs": {"accl-cclo", "astra-frontend"},
                 "accl-cclo": {"programs", "astra-frontend"}}
MODULES = ("rdma-qbb", "programs", "accl-cclo", "astra-frontend")

# What hosts and switches know of their plug-ins: interfaces.
INTERFACES = {"rdma-congestion-ops", "rdma-loss-recovery", "routing-policy", "forwarding-table", "in-network-hook"}

# Words of the link engine for what it leaves out, and where they may appear.
ELISION = re.compile(r"\w*(?:Quiet|quiet|Settl|settl|Await|LateWork|Punctual|CatchUp|CaughtUp|HandOver)\w*|\bPeek\b")
ELISION_FOLDER = "contrib/rdma-qbb/model/engine/"
ELISION_ELSEWHERE = {
    "contrib/rdma-qbb/model/packet/qbb-frame.h": {"quiet"},  # the engine's bit in a frame
}
# Words of the classes that derive from the engine's, for showing what is true now and for sending, and where they may appear.
DERIVED = re.compile(r"\b(?:Present|Received|CanSendNow|SendNow|OnDisorder)\b")
DERIVED_FOLDERS = tuple(f"contrib/rdma-qbb/model/{folder}/" for folder in ("engine", "port", "host", "switch"))
FETCH = re.compile(r"__builtin_prefetch|Fetch(?:Lines|Ahead)")
FETCH_FOLDERS = tuple(f"contrib/rdma-qbb/model/{folder}/" for folder in ("engine", "host", "switch"))
# What belongs to the sender of a connection, and the files of the receiving side, which learns from frames and from what was
# set up. Another host is visited where connections are set up and end, by the wire itself, and by those who count and report.
SENDERS = re.compile(r"\b(?:RdmaMessage|RdmaQueuePair|RdmaHw::Connect|m_senders|FindSender|m_peer)\b")
RECEIVER_FILES = {f"contrib/rdma-qbb/model/host/{name}" for name in
                  ("rdma-rx-queue-pair.h", "rdma-message-wire.h", "rdma-hw-receive.cc")}
VISIT = re.compile(r"\bPartitionMemory::Visit\b")
VISIT_FILES = {f"contrib/rdma-qbb/{name}" for name in
               ("model/engine/partition-memory.cc", "model/engine/link-wire.cc", "model/in-network/in-network-engine.cc",
                "model/host/rdma-hw-connections.cc", "helper/link-counting.cc")} | {"contrib/astra-frontend/helper/packet-backend.cc"}
# Pairs of files that include each other, by the names without suffix: a thing and its parts, which call it.
PARTS = {
    ("link-port", "link-agenda"), ("link-port", "link-node"), ("link-port", "link-wire"),  # the link engine
    ("qbb-simulator-impl", "qbb-partitions"),
    ("qbb-net-device", "qbb-channel"),  # the two ends of a cable, and the cable
    ("rdma-hw", "rdma-nic"), ("rdma-hw", "rdma-queue-pair"),
    ("fast-forward", "fast-forward-part"),
    ("flow-level-network", "flow-level-operation"),
    ("chakra-workload", "chakra-rank"), ("layer-workload", "layer-rank"),
    ("sys", "scheduler-unit"), ("sys", "stream-baseline"),
    ("serving-engine", "serving-rank"), ("serving-instance", "serving-rank"),
}
# Types at the level of a namespace, and whatever introduces a name anywhere, functions at the start of a line included.
ATTRIBUTES = r"(?:alignas\(\w+\)\s+|\[\[\w+\]\]\s+)*"
TYPE = re.compile(rf"^(?:enum class|enum|class|struct|union)\s+{ATTRIBUTES}(\w+)(?![\w;])[^;{{]*\{{|^using (\w+) =", re.MULTILINE)
DECLARED = re.compile(rf"\b(?:enum class|enum|class|struct|union|using|typename)\s+{ATTRIBUTES}(\w+)|^(\w+)\(", re.MULTILINE)
# A class at the level of a namespace, and its bases.
CLASS = re.compile(rf"^(?:class|struct)\s+{ATTRIBUTES}(\w+)(?:\s+final)?\s*(?::([^{{;]*))?\{{", re.MULTILINE)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)


def files(*suffixes):
    return sorted(p for module in MODULES
                  for folder in ("model", "helper", "frame", "flows", "physical", "test", "examples")
                  for p in (ROOT / "contrib" / module / folder).rglob("*") if p.suffix in suffixes)


def layer_of(path):
    parts = path.relative_to(ROOT / "contrib").parts
    if path.name in ("rank-network.h", "forwarding-network.h"):
        return "network-api"
    return parts[2] if parts[0] == "astra-frontend" and parts[1] == "model" else parts[0]


def model_layer_of(path):
    """@return the layer of a file in rdma-qbb/model, or None"""
    parts = path.relative_to(ROOT / "contrib").parts
    if parts[:2] != ("rdma-qbb", "model") or len(parts) < 4:
        return None
    return "interface" if path.suffix == ".h" and path.stem in INTERFACES else parts[2]


def engine_layer_of(path):
    """@return the layer of a file in accl-cclo/model, or None"""
    parts = path.relative_to(ROOT / "contrib").parts
    return parts[2] if parts[:2] == ("accl-cclo", "model") and len(parts) > 3 else None


def check_words(path):
    """@return what is wrong with the words of a source: the link engine's are its own"""
    where = str(path.relative_to(ROOT))
    if "/test/" in where or not where.startswith("contrib/rdma-qbb/"):
        code = NOT_CODE.sub("", path.read_text()) if FETCH.search(path.read_text()) else ""
        return [f"{where}: {word}: fetching ahead belongs to {', '.join(FETCH_FOLDERS)}" for word in set(FETCH.findall(code))]
    code = NOT_CODE.sub("", path.read_text())
    errors = []
    if not where.startswith(ELISION_FOLDER):
        words = set(ELISION.findall(code)) - ELISION_ELSEWHERE.get(where, set())
        errors += [f"{where}: {word} is a word of the link engine ({ELISION_FOLDER})" for word in sorted(words)]
    if not where.startswith(DERIVED_FOLDERS):
        errors += [f"{where}: {word} is a word between the link engine and {', '.join(DERIVED_FOLDERS[1:])}"
                   for word in sorted(set(DERIVED.findall(code)))]
    if where in RECEIVER_FILES:
        errors += [f"{where}: {word} is the sender's; a receiver learns from frames and from what was set up"
                   for word in sorted(set(SENDERS.findall(code)))]
    if VISIT.search(code) and where not in VISIT_FILES:
        errors.append(f"{where}: only the control plane visits another partition (PartitionMemory::Visit)")
    if not where.startswith(FETCH_FOLDERS):
        errors += [f"{where}: {word}: fetching ahead belongs to {', '.join(FETCH_FOLDERS)}" for word in set(FETCH.findall(code))]
    return errors


def mutual_includes(includes, headers):
    """@return the pairs of headers that include each other"""
    edges = {(path.name, name.removeprefix("ns3/")) for path, names in includes.items() for name in names
             if path.suffix == ".h" and name.removeprefix("ns3/") in headers}
    return [f"{a} and {b} include each other" for a, b in sorted(edges) if a < b and (b, a) in edges]


def pairs_that_include_each_other(includes):
    """@return the files, header and source together, that include each other and are not in PARTS; and what PARTS has for nothing"""
    names = {}
    for path, included in includes.items():
        if "test" not in path.relative_to(ROOT).parts and "examples" not in path.relative_to(ROOT).parts:
            names.setdefault(path.stem, set()).update(name.removeprefix("ns3/").removesuffix(".h") for name in included)
    found = {frozenset((a, b)) for a, known in names.items() for b in known if a != b and a in names.get(b, ())}
    listed = {frozenset(pair) for pair in PARTS if names.keys() >= set(pair)}
    return [f"{' and '.join(sorted(pair))} include each other; list them in PARTS only if they are one thing in two files"
            for pair in sorted(found - listed, key=sorted)] + \
           [f"{' and '.join(sorted(pair))} do not include each other; take them out of PARTS"
            for pair in sorted(listed - found, key=sorted)]


def bases_that_know_subclasses(includes, headers):
    """@return the base classes whose header or source includes the header of a subclass: whoever adds one would change them"""
    code = {path: NOT_CODE.sub("", path.read_text()) for path in headers.values()}
    homes = {found[1]: path for path, text in code.items() for found in CLASS.finditer(text)}
    errors = []
    for path, text in code.items():
        for found in CLASS.finditer(text):
            for base in re.findall(r"(?:public|private|protected)\s+(?:virtual\s+)?(?:\w+::)*(\w+)", found[2] or ""):
                home = homes.get(base, path)
                for knower in (home, home.with_suffix(".cc")):
                    if home != path and path.name in [name.removeprefix("ns3/") for name in includes.get(knower, [])]:
                        errors.append(f"{knower.relative_to(ROOT)}: {base} includes {path.name} of its subclass {found[1]}")
    return sorted(set(errors))


def types_out_of_reach(includes, headers):
    """@return what is wrong with the includes of sources that use a type of ours"""
    code = {path: NOT_CODE.sub("", path.read_text()) for path in includes}
    homes = {}
    for path in headers.values():
        for found in TYPE.finditer(code[path]):
            homes.setdefault(found[1] or found[2], set()).add(path)
    declared = {path: {found[1] or found[2] for found in DECLARED.finditer(text)} for path, text in code.items()}

    def reach(path, seen):
        for name in includes[path]:
            ours = headers.get(name.removeprefix("ns3/"))
            if ours and ours not in seen:
                seen.add(ours)
                reach(ours, seen)
        return seen

    errors = []
    for path, text in code.items():
        seen = reach(path, {path})
        known = set().union(*(declared[other] for other in seen))
        for name in sorted(set(re.findall(r"\w+", text)) & (homes.keys() - known)):
            errors.append(f"{path.relative_to(ROOT)}: uses {name} and includes no way to "
                          f"{' or '.join(sorted(home.name for home in homes[name]))}")
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alone", action="store_true", help="also compile headers by themselves (a minute)")
    options = parser.parse_args()
    errors = []
    headers = {}
    for path in files(".h"):
        if path.name in headers:
            errors.append(f"{path.relative_to(ROOT)}: the name is also that of "
                          f"{headers[path.name].relative_to(ROOT)}")
        headers[path.name] = path

    includes = {p: INCLUDE.findall(p.read_text()) for p in files(".h", ".cc")}

    def is_foreign_ns3(name):
        return name.startswith("ns3/") and name[4:] not in headers and not name.endswith(".pb.h")

    def chain_to_ns3(path, seen):
        """@return the includes that lead from path to an ns-3 header, or an empty list"""
        for name in includes[path]:
            if is_foreign_ns3(name):
                return [name]
            ours = headers.get(name.removeprefix("ns3/"))
            if ours and ours not in seen:
                seen.add(ours)
                chain = chain_to_ns3(ours, seen)
                if chain:
                    return [name] + chain
        return []

    for path, names in includes.items():
        where = path.relative_to(ROOT)
        module = path.relative_to(ROOT / "contrib").parts[0]
        for name in names:
            target = headers.get(name.removeprefix("ns3/"))
            if name.startswith("ns3/") and name.endswith("-module.h"):
                errors.append(f"{where}: includes the module header {name}; use single headers")
            if target is None:
                continue
            if target.relative_to(ROOT / "contrib").parts[0] in MUST_NOT_KNOW.get(module, set()):
                errors.append(f"{where}: {module} must not know {name}")
            engine = engine_layer_of(path)
            if engine and engine_layer_of(target) not in ENGINE_MAY_INCLUDE[engine] | {engine, None}:
                errors.append(f"{where}: {engine} must not include {name} of {engine_layer_of(target)}")
            layer = model_layer_of(path)
            if target.name in FOR_ALL:
                continue
            if layer and model_layer_of(target) not in MODEL_MAY_INCLUDE[layer] | {layer}:
                errors.append(f"{where}: {layer} must not include {name} of {model_layer_of(target)}")
            allowed = MAY_INCLUDE.get(layer_of(path)) if "test" not in where.parts else None
            if allowed and module == "astra-frontend" and "astra-frontend" in target.parts:
                if layer_of(target) not in allowed:
                    errors.append(f"{where}: layer {layer_of(path)} must not include {name} of "
                                  f"layer {layer_of(target)}")
        if "model" in where.parts and layer_of(path) in MAY_INCLUDE:
            chain = chain_to_ns3(path, {path})
            if chain:
                errors.append(f"{where}: reaches ns-3: {' -> '.join(chain)}")

    errors += mutual_includes(includes, headers)
    errors += pairs_that_include_each_other(includes)
    errors += bases_that_know_subclasses(includes, headers)
    errors += types_out_of_reach(includes, headers)
    for path in includes:
        errors += check_words(path)

    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                             check=True).stdout.split("\n")
    for name in tracked:
        if name.endswith((".cc", ".h", ".py", ".sh", ".cmake", "CMakeLists.txt", ".proto")):
            path = ROOT / name
            if path.exists() and "SPDX-License-Identifier" not in path.read_text()[:400]:
                errors.append(f"{name}: has no SPDX-License-Identifier line at its top")

    if options.alone:
        errors += compile_alone([path for name, path in headers.items()
                                 if includes.get(path.with_suffix(".cc"), [""])[:1] != [name]])

    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


def compile_alone(paths):
    include = next((ROOT / "build" / profile / "include" for profile in ("release", "debug")
                    if (ROOT / "build" / profile / "include").is_dir()), None)
    if include is None:
        return ["no build directory is configured: run scripts/build.sh first"]
    generated = include.parent / "contrib/astra-frontend/generated"

    def compile_one(path):
        command = ["g++", "-std=c++20", "-fsyntax-only", "-x", "c++", f"-I{include}",
                   f"-I{generated}", "-"]
        result = subprocess.run(command, input=f'#include "{path}"\n', capture_output=True,
                                text=True)
        name = path.relative_to(ROOT)
        return f"{name} does not compile by itself:\n{result.stderr}" if result.returncode else ""

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [error for error in pool.map(compile_one, paths) if error]


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks which file includes which, over both modules.

- rdma-qbb includes nothing of astra-frontend.
- In astra-frontend, workload -> system -> collective and nccl -> the network API: no include points
  up, and none of these folders reaches an ns-3 header, directly or through a header of ours.
- Only single ns-3 headers are included, never a module header.
- Header names are unique over both modules, and every source names its licence.
- Every header compiles by itself: either its source includes it first, or it is compiled alone here.
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
    "workload": {"workload", "system", "nccl", "collective", "network-api"},
}


def files(*suffixes):
    return sorted(p for module in ("rdma-qbb", "astra-frontend")
                  for folder in ("model", "helper", "test", "examples")
                  for p in (ROOT / "contrib" / module / folder).rglob("*") if p.suffix in suffixes)


def layer_of(path):
    parts = path.relative_to(ROOT / "contrib").parts
    if path.name in ("astra-network-api.h", "forwarding-network.h"):
        return "network-api"
    return parts[2] if parts[0] == "astra-frontend" and parts[1] == "model" else parts[0]


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
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
            if module == "rdma-qbb" and "astra-frontend" in target.parts:
                errors.append(f"{where}: rdma-qbb must not know {name}")
            allowed = MAY_INCLUDE.get(layer_of(path)) if "test" not in where.parts else None
            if allowed and module == "astra-frontend" and "astra-frontend" in target.parts:
                if layer_of(target) not in allowed:
                    errors.append(f"{where}: layer {layer_of(path)} must not include {name} of "
                                  f"layer {layer_of(target)}")
        if "model" in where.parts and layer_of(path) in MAY_INCLUDE:
            chain = chain_to_ns3(path, {path})
            if chain:
                errors.append(f"{where}: reaches ns-3: {' -> '.join(chain)}")

    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                             check=True).stdout.split("\n")
    for name in tracked:
        if name.endswith((".cc", ".h", ".py", ".sh", ".cmake", "CMakeLists.txt", ".proto")):
            path = ROOT / name
            if path.exists() and "SPDX-License-Identifier" not in path.read_text()[:400]:
                errors.append(f"{name}: has no SPDX-License-Identifier line at its top")

    alone = []
    for name, path in headers.items():
        source = path.with_suffix(".cc")
        first = includes.get(source, [""])[:1]
        if first != [name]:
            alone.append(path)
    errors += compile_alone(alone)

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

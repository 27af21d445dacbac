#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks which file includes which, over all modules.

- Each folder is a room: ROOMS says which rooms of its module, and of those in REACHES, it may include. No two rooms
  include each other, directly or through others.
- base includes nothing of the other modules, rdma-qbb and collectives base only; programs (what all programs go
  through, and qbb-flows) and accl-cclo these two, nothing of each other; simulator, the application, may include all
  but ADD_ONS.
- An add-on is found by the name that it registers: no other module includes or mentions it.
- In rdma-qbb's model, host and switch -> port -> engine -> partitions -> events: no include points up. Algorithms
  (congestion, recovery, routing) know host or switch, which know of them the contracts of plug-in/ only. A model
  includes no helper.
- Only the link engine knows which events are left out: its words appear nowhere else. The words by which ports, hosts
  and switches speak with it are theirs alone, not of plug-ins, readers or helpers. Only hosts and switches fetch ahead
  besides it.
- A receiver of RDMA messages knows no type of the sender's, and only the control plane visits another host.
- No two headers include each other, and the source of a base class includes none of its subclasses. Two pairs of files
  (header and source) include each other only where they are one thing in two files; these are listed.
- base, collectives and, in astra-frontend, workloads and systems reach no ns-3 header, directly or through a header of
  ours.
- A header is public if its module's CMakeLists.txt lists it: everybody includes it as "ns3/NAME.h", and it includes
  public headers only. Other headers are private: their own folder includes them by name, others of the repository by
  their path from contrib/, and only tests, the application (programs, simulator) and REACHES reach into another module
  for them.
- Only single ns-3 headers are included, never a module header.
- Header names are unique over all modules, and every source names its licence.
- No sentence of a comment or a document begins with a noun clause ("What ...", "Who ...").
- A source that uses a type or a free function of ours includes its header, directly or through others: sources are
  compiled together, where one may live on the includes of another. scripts/maintain/check-alone.py compiles each alone.
- With --alone, every header compiles by itself, or its source includes it first (scripts/maintain/nightly.sh runs
  that).
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)

# The modules, and those that each may include.
MODULES = {
    "base": (),
    "rdma-qbb": ("base",),
    "programs": ("base", "rdma-qbb"),
    "collectives": ("base",),
    "astra-frontend": ("base", "rdma-qbb", "collectives"),
    "simulator": ("base", "rdma-qbb", "programs", "collectives", "astra-frontend"),
    "accl-cclo": ("base", "rdma-qbb"),
    "accl-collectives": ("base", "rdma-qbb", "accl-cclo", "collectives", "astra-frontend"),
}
# Modules and rooms that the core does not need, and the words that only they, and the program that links them, have.
ADD_ONS = ("accl-cclo/", "accl-collectives/", "simulator/physical/")
ADD_ON_WORDS = re.compile(r"(?i:(?<![a-z])accl)|\b[Cc]clo(?=[A-Z-])|\bSimAI_phynet\b")
# Modules of programs, which reach into the private headers of others.
APPLICATION = ("programs", "simulator")
# Others whose rooms reach into another module: arrows of ROOMS have its name.
REACHES = {"astra-frontend": {"collectives"}}
# Rooms that each room includes, of its own module unless said otherwise, those below first.
ROOMS = {
    "base": set(),
    "rdma-qbb/model/attribute": set(),
    "rdma-qbb/model/events": set(),
    "rdma-qbb/model/packet": set(),
    "rdma-qbb/model/partitions": {"model/events"},
    "rdma-qbb/model/engine": {"model/attribute", "model/events", "model/packet", "model/partitions"},
    "rdma-qbb/model/plug-in": {"model/packet", "model/partitions"},
    "rdma-qbb/model/input": {"model/attribute", "model/plug-in"},
    "rdma-qbb/model/port": {"model/attribute", "model/engine", "model/packet", "model/partitions"},
    "rdma-qbb/model/host": {"model/attribute", "model/engine", "model/events", "model/packet", "model/partitions",
                            "model/plug-in", "model/port"},
    "rdma-qbb/model/paths": {"model/input", "model/packet"},
    "rdma-qbb/model/congestion": {"model/events", "model/host", "model/packet", "model/plug-in"},
    "rdma-qbb/model/recovery": {"model/events", "model/host", "model/packet", "model/plug-in"},
    "rdma-qbb/model/switch": {"model/attribute", "model/engine", "model/packet", "model/partitions", "model/paths",
                              "model/plug-in", "model/port"},
    "rdma-qbb/model/uec": {"model/events", "model/host", "model/packet", "model/paths", "model/plug-in",
                           "model/recovery", "model/switch"},
    "rdma-qbb/helper": {"model/host", "model/packet", "model/port", "model/switch"},
    "rdma-qbb/model/in-network": {"model/host", "model/packet", "model/plug-in", "model/switch"},
    "rdma-qbb/model/routing": {"model/attribute", "model/input", "model/packet", "model/paths", "model/plug-in",
                               "model/switch"},
    "rdma-qbb/fabric": {"helper", "model/attribute", "model/events", "model/host", "model/in-network", "model/input",
                        "model/packet", "model/partitions", "model/paths", "model/port", "model/routing",
                        "model/switch"},
    "rdma-qbb/records": {"fabric", "model/events", "model/input", "model/packet", "model/partitions", "model/port"},
    "programs/mpi": set(),
    "programs/frame": {"mpi"},
    "programs/flows": {"frame"},
    "collectives/model/collective": set(),
    "collectives/model/gpu": {"model/collective"},
    "collectives/model/graph": {"model/collective", "model/gpu"},
    "collectives/model/timing": {"model/collective", "model/graph"},
    "collectives/model/library": {"model/collective", "model/gpu"},
    "collectives/model/nccl": {"model/collective", "model/gpu", "model/graph", "model/library", "model/timing"},
    "collectives/model/rccl": {"model/collective", "model/gpu", "model/graph", "model/library", "model/nccl"},
    "collectives/model/hccl": {"model/collective", "model/graph", "model/library"},
    "collectives/model/msccl": {"model/collective", "model/graph", "model/library", "model/nccl"},
    "collectives/model/native": {"model/collective"},
    "collectives/model/group": {"model/collective", "model/gpu", "model/library", "model/nccl", "model/timing"},
    "astra-frontend/model/api": {"collectives/model/collective"},
    "astra-frontend/model/chakra": {"collectives/model/collective"},
    "astra-frontend/model/goal": set(),
    "astra-frontend/model/network": {"collectives/model/collective", "collectives/model/gpu"},
    "astra-frontend/model/flow": {"collectives/model/collective", "model/network"},
    "astra-frontend/model/formula": {"collectives/model/collective", "model/network"},
    "astra-frontend/model/native": {"collectives/model/collective", "collectives/model/native", "model/chakra"},
    "astra-frontend/model/packet": {"collectives/model/collective", "model/api", "model/network"},
    "astra-frontend/model/fastforward/patterns": {"collectives/model/collective", "model/flow"},
    "astra-frontend/model/system": {"collectives/model/collective", "collectives/model/native", "model/native"},
    "astra-frontend/model/fastforward": {"collectives/model/collective", "model/fastforward/patterns", "model/network"},
    "astra-frontend/model/estimate": {"collectives/model/collective", "collectives/model/graph",
                                      "collectives/model/group", "model/flow", "model/network"},
    "astra-frontend/model/inference/policy": {"collectives/model/collective"},
    "astra-frontend/model/inference/input": {"collectives/model/collective", "model/inference/policy", "model/system"},
    "astra-frontend/model/inference/cache": {"collectives/model/collective", "model/inference/input",
                                             "model/inference/policy", "model/system"},
    "astra-frontend/model/inference": {"collectives/model/collective", "model/inference/cache",
                                       "model/inference/input", "model/inference/policy", "model/system"},
    "astra-frontend/model/workload": {"collectives/model/collective", "model/chakra", "model/goal",
                                      "model/inference", "model/system"},
    "simulator/options": set(),
    "simulator/physical": set(),
    "simulator/records": set(),
    "simulator/inputs": {"options"},
    "simulator/back-ends": {"inputs", "options", "records"},
    "simulator/jobs": {"back-ends", "inputs", "options", "records"},
    "simulator/run": {"back-ends", "inputs", "options"},
    "simulator/programs": {"back-ends", "inputs", "jobs", "options", "records", "run"},
    "simulator/physical/run": {"inputs", "jobs", "options", "physical", "records"},
    "accl-cclo/model/interface": set(),
    "accl-cclo/model/network": {"model/interface"},
    "accl-cclo/model/data": {"model/interface", "model/network"},
    "accl-cclo/model/control": {"model/data", "model/interface", "model/network"},
    "accl-cclo/fabric": {"model/control", "model/network"},
    "accl-collectives": set(),
}
# Modules and rooms that must not reach ns-3: their models run on any network.
WITHOUT_NS3 = ("base/", "collectives/", *(f"astra-frontend/model/{room}/"
                                          for room in ("native", "chakra", "goal", "system", "inference",
                                                       "workload")))
# Folders beside the rooms.
BESIDE = ("test", "examples", "doc")

# Sentences for people begin with a noun.
COMMENT = re.compile(r"(?:///?<?|^\s*/?\*+)\s+(?:@brief )?(.*)")
HASH_COMMENT = re.compile(r"(?:\"\"\"|^\s*#+ )(.*)")  # and docstrings
NOUN_CLAUSE = re.compile(r"(?:^|[.:;] +)(?:What|Who|Whoever|Whatever|Whose|Of what|Of one|Of those|From whom) [a-z]")
# Words of the link engine for what it leaves out, and where they may appear.
ELISION = re.compile(r"\w*(?:Settl|settl|Await|LateWork|Punctual|CatchUp|CaughtUp)\w*|\bPeek\b")
ELISION_FOLDERS = tuple(f"contrib/rdma-qbb/model/{folder}/" for folder in ("engine", "events", "partitions"))
# Words of the classes that derive from the engine's, for showing what is true now and for sending, and where they may
# appear.
DERIVED = re.compile(r"\b(?:Present|CanSendNow|SendNow)\b")
DERIVED_FOLDERS = ELISION_FOLDERS + tuple(f"contrib/rdma-qbb/model/{folder}/" for folder in ("port", "host", "switch"))
FETCH = re.compile(r"__builtin_prefetch|Fetch(?:Lines|Ahead)")
FETCH_FOLDERS = ELISION_FOLDERS + tuple(f"contrib/rdma-qbb/model/{folder}/" for folder in ("host", "switch"))
# Types of the sender of a connection, and the files of the receiving side, which learns from frames and from what was
# set up.
SENDERS = re.compile(r"\b(?:RdmaMessage|RdmaQueuePair|RdmaHw::Connect|RdmaSender|m_sender|m_peer)\b")
RECEIVER_FILES = {f"contrib/rdma-qbb/model/host/{name}" for name in
                  ("rdma-rx-queue-pair.h", "rdma-message-wire.h", "rdma-receiver.h", "rdma-receiver.cc")}
# Pairs of files that include each other, by the names without suffix: a thing and its parts, which call it.
PARTS = {
    ("link-port", "link-agenda"), ("link-port", "link-wire"),  # the link engine
    ("qbb-simulator-impl", "qbb-partitions"),
    ("rdma-hw", "rdma-queue-pair"), ("rdma-hw", "rdma-receiver"), ("rdma-hw", "rdma-sender"),
    ("serving-engine", "serving-instance"), ("serving-instance", "stage-in-step"),
}
# Types at the level of a namespace, and whatever introduces a name anywhere, functions at the start of a line included.
ATTRIBUTES = r"(?:alignas\(\w+\)\s+|\[\[\w+\]\]\s+)*"
TYPE = re.compile(rf"^(?:enum class|enum|class|struct|union)\s+{ATTRIBUTES}(\w+)(?![\w;])[^;{{]*\{{|^using (\w+) =",
                  re.MULTILINE)
# A free function begins at the margin in a header; a name that is a member's, too, may be either.
FUNCTION = re.compile(r"^(?! *return\b)(?:[\w:<>,&*\[\] ]+[ &*\n])?([A-Z]\w*[a-z]\w*)\(", re.MULTILINE)
MEMBER = re.compile(r"(?:[A-Z]\w*(?:<[^;{}()]*>)?::~?|\.|->"
                    r"|^[ \t]+(?![ \t]|return\b|else\b|case\b|throw\b)[\w:<>,&*\[\] ]*[\w>][ &*]+)"
                    r"([A-Z]\w*)\((?=[^;{]*\)[^;{]*(?:const|override|;|\{|=|$))", re.MULTILINE)
DECLARED = re.compile(rf"\b(?:enum class|enum|class|struct|union|using|typename)\s+{ATTRIBUTES}(\w+)|^(\w+)\(",
                      re.MULTILINE)
# A class at the level of a namespace, and its bases.
CLASS = re.compile(rf"^(?:class|struct)\s+{ATTRIBUTES}(\w+)(?:\s+final)?\s*(?::([^{{;]*))?\{{", re.MULTILINE)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)
# A module's list of its public headers.
PUBLIC = re.compile(r"^set\(\w+_headers\n([^)]*)\)", re.MULTILINE)


def files(*suffixes):
    return sorted(p for module in MODULES for p in (ROOT / "contrib" / module).rglob("*") if p.suffix in suffixes)


def module_of(path):
    return path.relative_to(ROOT / "contrib").parts[0]


def room_of(path):
    """@return the folder of a source from contrib/; None beside the rooms"""
    folder = path.relative_to(ROOT / "contrib").parent
    return None if set(folder.parts) & set(BESIDE) else folder.as_posix()


def public_headers():
    """@return the paths that the modules' lists of public headers have"""
    found = set()
    for module in MODULES:
        lists = ROOT / "contrib" / module / "CMakeLists.txt"
        for names in PUBLIC.findall(lists.read_text()) if lists.exists() else ():
            found |= {lists.parent / name for name in names.split()}
    return found


def check_rooms(path, target):
    """@return what is wrong with one room's include of another"""
    where, room, other = path.relative_to(ROOT), room_of(path), room_of(target)
    module, foreign = module_of(path), module_of(target)
    if foreign != module and foreign not in MODULES[module]:
        return [f"{where}: {module} must not know {target.name} of {foreign}"]
    if room is None or other is None or foreign not in {module, *REACHES.get(module, ())} or room == other:
        return []
    if room not in ROOMS:
        return [f"{where}: {room} is no room in ROOMS"]
    if other.removeprefix(f"{module}/") not in ROOMS[room]:
        return [f"{where}: {room} must not include {target.name} of {other}"]
    return []


def rooms_in_a_circle():
    """@return the circles in ROOMS: rooms that may include each other, directly or through others"""
    state, errors = {}, []

    def visit(room, path):
        if state.get(room) == "done":
            return
        if room in path:
            errors.append("ROOMS has a circle: " + " -> ".join([*path[path.index(room):], room]))
            return
        for other in sorted(ROOMS.get(room, ())):
            visit(other if other in ROOMS else f"{room.split('/')[0]}/{other}", [*path, room])
        state[room] = "done"

    for room in sorted(ROOMS):
        visit(room, [])
    return errors


def check_spelling(path, name, target, public):
    """@return what is wrong with the way a source includes a header of ours"""
    where = path.relative_to(ROOT)
    from_contrib = target.relative_to(ROOT / "contrib").as_posix()
    if target.parent == path.parent:
        wanted = target.name
    elif target in public:
        wanted = f"ns3/{target.name}"
    else:
        wanted = from_contrib
    errors = []
    if name != wanted:
        errors.append(f"{where}: includes \"{name}\"; expected \"{wanted}\"")
    if target not in public and target.parent != path.parent:
        if path in public:
            errors.append(f"{where}: is public and includes {target.name}, which is not")
        elif module_of(path) not in (module_of(target),
                                     *APPLICATION) and module_of(target) not in REACHES.get(module_of(path), ()) \
                and "test" not in where.parts:
            errors.append(f"{where}: {target.name} is private to {module_of(target)}: its CMakeLists.txt does not "
                          f"list it")
        elif "examples" in where.parts:
            errors.append(f"{where}: an example includes {target.name}, which is private")
    if path in public and target not in public and target.parent == path.parent:
        errors.append(f"{where}: is public and includes {target.name}, which is not")
    return errors


def check_sentences(name):
    """@return sentences of a source's comments or of a document that begin with a noun clause; they begin with a
    noun"""
    lines = (ROOT / name).read_text(errors="replace").split("\n")
    if not name.endswith((".rst", ".md")):
        comment = COMMENT if name.endswith((".cc", ".h")) else HASH_COMMENT
        lines = [match[1] if (match := comment.search(line)) else "" for line in lines]
    return [f"{name}:{number}: a sentence begins with a noun clause: {line.strip()}" for number,
            line in enumerate(lines, 1)
            if NOUN_CLAUSE.search(line) and "?" not in line]


def check_words(path):
    """@return what is wrong with the words of a source: the link engine's are its own"""
    where = str(path.relative_to(ROOT))
    if not where.removeprefix("contrib/").startswith(ADD_ONS):
        words = {found[0] for found in ADD_ON_WORDS.finditer(path.read_text())}
        if words:
            return [f"{where}: {word} is a word of an add-on ({', '.join(ADD_ONS)})" for word in sorted(words)]
    if "/test/" in where or not where.startswith("contrib/rdma-qbb/"):
        code = NOT_CODE.sub("", path.read_text()) if FETCH.search(path.read_text()) else ""
        return [f"{where}: {word}: fetching ahead belongs to {', '.join(FETCH_FOLDERS)}"
                for word in set(FETCH.findall(code))]
    code = NOT_CODE.sub("", path.read_text())
    errors = []
    if not where.startswith(ELISION_FOLDERS):
        words = set(ELISION.findall(code))
        errors += [f"{where}: {word} is a word of the link engine ({ELISION_FOLDERS[0]})" for word in sorted(words)]
    if not where.startswith(DERIVED_FOLDERS):
        errors += [f"{where}: {word} is a word between the link engine and {', '.join(DERIVED_FOLDERS[3:])}"
                   for word in sorted(set(DERIVED.findall(code)))]
    if where in RECEIVER_FILES:
        errors += [f"{where}: {word} is the sender's; a receiver learns from frames and from what was set up"
                   for word in sorted(set(SENDERS.findall(code)))]
    if not where.startswith(FETCH_FOLDERS):
        errors += [f"{where}: {word}: fetching ahead belongs to {', '.join(FETCH_FOLDERS)}"
                   for word in set(FETCH.findall(code))]
    return errors


def mutual_includes(includes, headers):
    """@return the pairs of headers that include each other"""
    edges = {(path.name, base(name)) for path, names in includes.items() for name in names
             if path.suffix == ".h" and base(name) in headers}
    return [f"{a} and {b} include each other" for a, b in sorted(edges) if a < b and (b, a) in edges]


def pairs_that_include_each_other(includes):
    """@return the files, header and source together, that include each other and are not in PARTS; and what PARTS has
    for nothing"""
    names = {}
    for path, included in includes.items():
        if room_of(path) is not None:
            names.setdefault(path.stem, set()).update(base(name).removesuffix(".h") for name in included)
    found = {frozenset((a, b)) for a, known in names.items() for b in known if a != b and a in names.get(b, ())}
    listed = {frozenset(pair) for pair in PARTS if names.keys() >= set(pair)}
    return [f"{' and '.join(sorted(pair))} include each other; list them in PARTS only if they are one thing in two "
            f"files"
            for pair in sorted(found - listed, key=sorted)] + \
           [f"{' and '.join(sorted(pair))} do not include each other; take them out of PARTS"
            for pair in sorted(listed - found, key=sorted)]


def bases_that_know_subclasses(includes, headers):
    """@return the base classes whose header or source includes the header of a subclass: whoever adds one would change
    them"""
    code = {path: NOT_CODE.sub("", path.read_text()) for path in headers.values()}
    homes = {found[1]: path for path, text in code.items() for found in CLASS.finditer(text)}
    errors = []
    for path, text in code.items():
        for found in CLASS.finditer(text):
            for parent in re.findall(r"(?:public|private|protected)\s+(?:virtual\s+)?(?:\w+::)*(\w+)", found[2] or ""):
                home = homes.get(parent, path)
                for knower in (home, home.with_suffix(".cc")):
                    if home != path and path.name in [base(name) for name in includes.get(knower, [])]:
                        errors.append(f"{knower.relative_to(ROOT)}: {parent} includes {path.name} of its subclass "
                                      f"{found[1]}")
    return sorted(set(errors))


def names_out_of_reach(includes, headers):
    """@return what is wrong with the includes of sources that use a type or a free function of ours"""
    code = {path: NOT_CODE.sub("", path.read_text()) for path in includes}
    homes = {}
    for path in headers.values():
        for found in TYPE.finditer(code[path]):
            homes.setdefault(found[1] or found[2], set()).add(path)
    declared = {path: {found[1] or found[2] for found in DECLARED.finditer(text)} for path, text in code.items()}
    functions = {path: set(FUNCTION.findall(code[path])) for path in headers.values()}
    members = {name for text in code.values() for name in MEMBER.findall(text)}
    for path, names in functions.items():
        for name in names - members - homes.keys():
            homes.setdefault(name, set()).add(path)
    for path, text in code.items():
        declared[path] |= set(FUNCTION.findall(text))

    def reach(path, seen):
        for name in includes[path]:
            ours = headers.get(base(name))
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


def base(name):
    """@return the file's name of what an include names"""
    return name.rpartition("/")[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alone", action="store_true", help="also compile headers by themselves (a minute)")
    options = parser.parse_args()
    errors = rooms_in_a_circle()
    headers = {}
    for path in (each for each in files(".h") if "doc" not in each.relative_to(ROOT).parts):
        if path.name in headers:
            errors.append(f"{path.relative_to(ROOT)}: the name is also that of "
                          f"{headers[path.name].relative_to(ROOT)}")
        headers[path.name] = path

    includes = {p: INCLUDE.findall(p.read_text()) for p in files(".h", ".cc")}
    public = public_headers()
    errors += [f"{path.relative_to(ROOT)}: is listed as public and not there" for path in sorted(public)
               if not path.exists()]

    def is_foreign_ns3(name):
        return name.startswith("ns3/") and name[4:] not in headers and not name.endswith(".pb.h")

    def chain_to_ns3(path, seen):
        """@return the includes that lead from path to an ns-3 header, or an empty list"""
        for name in includes[path]:
            if is_foreign_ns3(name):
                return [name]
            ours = headers.get(base(name))
            if ours and ours not in seen:
                seen.add(ours)
                chain = chain_to_ns3(ours, seen)
                if chain:
                    return [name] + chain
        return []

    for path, names in includes.items():
        where = path.relative_to(ROOT)
        for name in names:
            if name.startswith("ns3/") and name.endswith("-module.h"):
                errors.append(f"{where}: includes the module header {name}; use single headers")
            target = headers.get(base(name))
            if target is None or target == path:
                continue
            errors += check_rooms(path, target) + check_spelling(path, name, target, public)
        if path.relative_to(ROOT / "contrib").as_posix().startswith(WITHOUT_NS3):
            chain = chain_to_ns3(path, {path})
            if chain:
                errors.append(f"{where}: reaches ns-3: {' -> '.join(chain)}")

    errors += mutual_includes(includes, headers)
    errors += pairs_that_include_each_other(includes)
    errors += bases_that_know_subclasses(includes, headers)
    errors += names_out_of_reach(includes, headers)
    for path in includes:
        errors += check_words(path)

    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                             check=True).stdout.split("\n")
    for name in tracked:
        if name.endswith((".cc", ".h", ".py", ".sh", ".cmake", ".txt", ".rst", ".md")) and (ROOT / name).is_file():
            errors += check_sentences(name)
        if name.endswith((".cc", ".h", ".py", ".sh", ".cmake", "CMakeLists.txt", ".proto")):
            path = ROOT / name
            if path.exists() and "SPDX-License-Identifier" not in path.read_text()[:400]:
                errors.append(f"{name}: has no SPDX-License-Identifier line at its top")

    if options.alone:
        errors += compile_alone([path for name, path in headers.items()
                                 if base((includes.get(path.with_suffix(".cc")) or [""])[0]) != name])

    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


def compile_alone(paths):
    include = next((ROOT / "build" / profile / "include" for profile in ("release", "debug")
                    if (ROOT / "build" / profile / "include").is_dir()), None)
    if include is None:
        return ["no build directory is configured: run scripts/build.sh first"]
    generated = [f"-I{include.parent}/contrib/{module}/generated" for module in ("collectives", "astra-frontend")]

    def compile_one(path):
        command = ["g++", "-std=c++20", "-fsyntax-only", "-x", "c++", f"-I{include}",
                   f"-I{ROOT / 'contrib'}", *generated, "-"]
        result = subprocess.run(command, input=f'#include "{path}"\n', capture_output=True,
                                text=True)
        name = path.relative_to(ROOT)
        return f"{name} does not compile by itself:\n{result.stderr}" if result.returncode else ""

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [error for error in pool.map(compile_one, paths) if error]


if __name__ == "__main__":
    sys.exit(main())

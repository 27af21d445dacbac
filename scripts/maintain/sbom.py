#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes what programs are made of, with versions and licences (SPDX 2.3, JSON): a software bill of materials.

    scripts/maintain/sbom.py build/release/bin/SimAI_simulator -o cluster-sim.spdx.json

Lists this project, the Debian packages whose libraries the programs load, and which of them needs which (ns-3 needs
GSL, the programs do not), those whose headers they are compiled from, and those that the Python package imports.
Licences are those that Debian's copyright files name for most of a package.

Exit status: 0 written, 2 a program cannot be read, or this is not a Debian system.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from clustersim import command  # noqa: E402
from clustersim.whole_file import write_text  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
LICENCE = "GPL-2.0-only"
# Packages (patterns) whose headers are compiled into the programs, so that no library says so.
HEADERS = ("libboost[0-9]*-dev", "libfmt-dev", "nlohmann-json3-dev", "libns3-dev")
PYTHON = ("python3-numpy", "python3-pandas", "python3-matplotlib", "python3-yaml", "python3-jinja2", "python3-networkx",
          "python3-pydantic", "python3-protobuf")
# Debian's names of licences that SPDX calls otherwise.
SPDX_NAMES = {"Expat": "MIT", "X11": "MIT", "BSD-3-clause": "BSD-3-Clause", "BSD-2-clause": "BSD-2-Clause",
              "BSD-3": "BSD-3-Clause",
              "BSD-3-Clause~Google": "BSD-3-Clause", "GPL": "GPL-1.0-or-later", "GPL-2+": "GPL-2.0-or-later",
              "GPL-2.0+": "GPL-2.0-or-later", "GPL-3+": "GPL-3.0-or-later", "LGPL-2.1+": "LGPL-2.1-or-later",
              "public-domain": "LicenseRef-public-domain", "zlib": "Zlib"}
# Of packages, without the version in their names, whose copyright file says it in prose.
IN_PROSE = {"libc": "LGPL-2.1-or-later", "libgcc-s": "GPL-3.0-or-later WITH GCC-exception-3.1",
            "libstdc++": "GPL-3.0-or-later WITH GCC-exception-3.1", "libns3-dev": LICENCE, "libns": LICENCE,
            "libgsl": "GPL-3.0-or-later", "libgslcblas": "GPL-3.0-or-later", "libfmt-dev": "MIT", "libfmt": "MIT",
            "python3-numpy": "BSD-3-Clause", "python3-jinja": "BSD-3-Clause", "python3-yaml": "MIT",
            "python3-matplotlib": "LicenseRef-matplotlib"}


class SbomError(Exception):
    """An input is wrong; the text says which and what was expected."""


def output_of(*words):
    result = subprocess.run(words, capture_output=True, text=True)
    return result.stdout if result.returncode == 0 else ""


def libraries_of(program):
    """@return name -> file of the shared libraries that a program loads"""
    if not os.access(program, os.X_OK):
        raise SbomError(f"{program}: is not a program; expected one that is built")
    found = dict(re.findall(r"(\S+) => (/\S+)", output_of("ldd", str(program))))
    if not found:
        raise SbomError(f"{program}: loads no shared library; expected a program for this machine")
    return found


def needed_by(file):
    """@return names of the shared libraries that a program or library was itself linked with"""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", str(file)))


def dynamic_links(programs):
    """@return (who, whose library it was linked with) for the packages whose libraries the programs load; "" is this
    project"""
    links = set()
    for program in programs:
        libraries = libraries_of(program)
        owners = {name: package_of(file) for name, file in libraries.items()}
        for owner, file in [("", program), *((owners[name], file) for name, file in libraries.items() if owners[name])]:
            links |= {(owner, owners[name]) for name in needed_by(file) if owners.get(name)}
    return sorted(link for link in links if link[0] != link[1])


def package_of(file):
    """@return the Debian package that a library is from; an empty text for none"""
    for path in (file, os.path.realpath(file), os.path.realpath(file).removeprefix("/usr")):
        owner = output_of("dpkg-query", "-S", path)
        if owner:
            return owner.split(":")[0]
    return ""


def licence_of(package):
    """@return the licence of most of a package: of `Files: *` in its copyright file; NOASSERTION if none is named"""
    path = pathlib.Path("/usr/share/doc", package, "copyright")
    name = re.sub(r"[\d.]+(t64)?$", "", package)
    if name in IN_PROSE or not path.is_file():
        return IN_PROSE.get(name, "NOASSERTION")
    text = path.read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^Files:[ \t]*\*[ \t]*\n(?:(?!Files:|\n).*\n)*?License:[ \t]*(\S.*)$", text, re.MULTILINE)
    if not found:
        return "NOASSERTION"
    names = re.split(r"\s+(and|or)\s+", found[1].strip().replace(",", ""))
    return " ".join(name.upper() if name in ("and", "or") else SPDX_NAMES.get(name, name) for name in names)


def installed(pattern):
    """@return packages of this system by a pattern of their names"""
    found = output_of("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\\n", pattern)
    return re.findall(r"^installed (\S+)$", found, re.MULTILINE)


def identifier(package):
    return f"SPDXRef-{re.sub(r'[^A-Za-z0-9.-]', '-', package)}"


def entry(package):
    """@return the package as SPDX has it"""
    version = output_of("dpkg-query", "-W", "-f", "${Version}", package)
    return {"SPDXID": identifier(package), "name": package,
            "versionInfo": version or "unknown", "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence_of(package),
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{package}@{version}"}]}


def document(programs):
    """@return the bill of materials"""
    version = (ROOT / "VERSION").read_text(encoding="ascii").strip()
    uses = [("", kind, package) for kind, patterns in (("STATIC_LINK", HEADERS), ("DEPENDS_ON", PYTHON))
            for pattern in patterns for package in installed(pattern)]
    uses += [(who, "DYNAMIC_LINK", package) for who, package in dynamic_links(programs)]
    packages = sorted({package for _, _, package in uses})
    digest = hashlib.sha256("".join(f"{package}{entry(package)['versionInfo']}"
                                    for package in packages).encode()).hexdigest()
    # The time of the commit, so that the same sources give the same bytes.
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or output_of("git", "-C", str(ROOT), "log", "-1", "--format=%ct")
                  or 0)
    created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    own = {"SPDXID": "SPDXRef-cluster-sim", "name": "cluster-sim", "versionInfo": version,
           "downloadLocation": "NOASSERTION",
           "filesAnalyzed": False, "licenseConcluded": LICENCE, "licenseDeclared": LICENCE,
           "copyrightText": "NOASSERTION"}
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"cluster-sim-{version}", "documentNamespace": f"urn:cluster-sim:{version}:{digest}",
            "creationInfo": {"created": created, "creators": ["Tool: scripts/maintain/sbom.py"]},
            "packages": [own, *map(entry, packages)],
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                               "relatedSpdxElement": "SPDXRef-cluster-sim"},
                              *({"spdxElementId": identifier(who or "cluster-sim"), "relationshipType": kind,
                                 "relatedSpdxElement": identifier(package)} for who, kind, package in uses)]}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, metavar="FILE", required=True)
    options = parser.parse_args(arguments)
    try:
        if not shutil.which("dpkg-query"):
            raise SbomError("there is no dpkg-query; expected a Debian system")
        write_text(options.output, json.dumps(document(options.programs), indent=1) + "\n")
    except SbomError as error:
        print(f"{command.name()}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    command.run("sbom.py", main)

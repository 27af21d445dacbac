#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compile sources of the modules each by itself, as an ns-3 tree does, and print what they lack.

Other builds compile sources together, where one may live on the includes of another. Nothing is made: only the syntax
is checked. Without arguments: the sources that changed within the last days, themselves or by their own headers.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/alone"


def commands():
    """@return the compiler's arguments by source"""
    subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None",
                    "-DCMAKE_UNITY_BUILD=OFF",
                    "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], check=True, stdout=subprocess.DEVNULL)
    # The command alone: ninja would build the libraries before it that astra-frontend links.
    generate = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "-s",
                               "contrib/astra-frontend/generated/ns3/chakra.pb.h"],
                              capture_output=True, text=True, check=True).stdout
    subprocess.run(generate, shell=True, cwd=BUILD, check=True)
    return {pathlib.Path(each["file"]): each for each in json.loads((BUILD / "compile_commands.json").read_text())}


def changed(days):
    """@return the sources of modules that edits touch, then those of commits of the last days, newest first. A header's
    source includes it first."""
    edited = subprocess.run(["git", "diff", "--name-only", "HEAD", "--", "contrib"], cwd=ROOT, capture_output=True,
                            text=True, check=True).stdout
    log = subprocess.run(["git", "log", f"--since={days}.days", "--name-only", "--format=", "--", "contrib"], cwd=ROOT,
                         capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in (edited + log).split() if name.endswith((".cc", ".h"))]
    return list(dict.fromkeys(file.with_suffix(".cc") for file in files))


def check(command):
    words = shlex.split(command["command"])
    place = words.index("-o")
    done = subprocess.run([*words[:place], "-fsyntax-only", *words[place + 2:]], cwd=command["directory"],
                          capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=2, metavar="N",
                        help="how many days a change is looked at (default: 2)")
    parser.add_argument("--most", type=int, metavar="N", help="no more than the N that changed last")
    parser.add_argument("--all", action="store_true", help="all sources of the modules (15 minutes of CPU time)")
    options = parser.parse_args()
    known = commands()
    wanted = known if options.all else changed(options.days)
    sources = [source for source in wanted if source in known
               and source.is_relative_to(ROOT / "contrib")][:options.most]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = [error for error in pool.map(check, (known[source] for source in sources)) if error]
    print("".join(errors), end="", file=sys.stderr)
    print(f"check-alone.py: {len(sources)} sources compiled alone, {len(errors)} with errors")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Follows packaging/Dockerfile where there is no container engine: each stage in a Debian root of its own, by
mmdebstrap and chroot.

    packaging/image-without-engine.py ROOT                            every stage, from an empty root
    packaging/image-without-engine.py ROOT --package cluster-sim.deb  what the build stage makes is there already
    packaging/image-without-engine.py ROOT --build-arg DEBIAN=12      on another Debian than the file says

ROOT/STAGE is what a stage leaves; the last one is the image, and its programs must print their help. Needs root,
mmdebstrap, and the Debian archive that this machine uses. Exit status: 0 it works; 1 a step failed, which is named;
2 a wrong argument.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import string
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = ("/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources")
SUITES = {"debian:12": "bookworm", "debian:13": "trixie"}


class StepFailed(Exception):
    pass


def steps_of(text):
    """@return (word, rest) of each instruction of a Dockerfile, continued lines joined, comments left out"""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines()]


def stages_of(steps, arguments=()):
    """@return name of each stage -> (image it begins with, its further steps); the last one is "image" if it has no
    name
    @param arguments NAME=VALUE, for ARG instead of its own"""
    stages, name, values = {}, None, {}
    for word, rest in steps:
        if word == "ARG":
            wanted = rest.partition("=")[0] + "="
            values |= dict(each.split("=", 1) for each in (rest, *arguments) if each.startswith(wanted))
        elif word == "FROM":
            image, *alias = rest.split()
            name = alias[1] if alias else "image"
            stages[name] = (string.Template(image).substitute(values), [])
        else:
            stages[name][1].append((word, rest))
    return stages


def call(command, **options):
    try:
        failed = subprocess.run(command, **options).returncode
    except FileNotFoundError:
        raise StepFailed(f"{command[0]}: no such program; expected what scripts/setup.sh --develop installs") from None
    if failed:
        raise StepFailed(shlex.join(map(str, command)))


def new_root(image, folder):
    if image not in SUITES:
        raise StepFailed(f"FROM {image}; expected one of {', '.join(SUITES)}")
    sources = next((path for path in SOURCES if os.path.exists(path)), None)
    if not sources:
        call(["mmdebstrap", "--quiet", "--variant=minbase", SUITES[image], folder])
        return
    text = pathlib.Path(sources).read_text(encoding="utf-8")
    text = re.sub(rf"\b({'|'.join(SUITES.values())})\b", SUITES[image], text)
    call(["mmdebstrap", "--quiet", "--variant=minbase", SUITES[image], folder, "-"], input=text, text=True)


def in_root(folder, place, variables, command):
    """Runs a shell command inside, as a container engine would."""
    call(["chroot", folder, "/usr/bin/env", *variables, "/bin/sh", "-c", f"cd {shlex.quote(place)} && {command}"])


def copy(rest, base, folder, place):
    """COPY [--from=STAGE] SOURCE ... TARGET; without a stage from the checkout, of which git knows the files."""
    *flags, source, target = rest.split()
    target = folder / pathlib.PurePosixPath(place, target).relative_to("/")
    target.mkdir(parents=True, exist_ok=True)
    if flags:
        found = list((base / flags[0].removeprefix("--from=")).glob(source.lstrip("/")))
    elif source == ".":
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
        return
    else:
        found = list(ROOT.glob(source))
    if not found:
        raise StepFailed(f"COPY {rest}: there is no such file")
    for path in found:
        shutil.copy2(path, target)


def carry_out(steps, base, folder):
    place, variables = "/", []
    for word, rest in steps:
        print(f"{word} {rest}", flush=True)
        if word == "WORKDIR":
            place = rest
            (folder / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif word == "ENV":
            variables += shlex.split(rest)
        elif word == "COPY":
            copy(rest, base, folder, place)
        elif word == "RUN":
            in_root(folder, place, variables, rest)
        else:
            raise StepFailed(f"{word} {rest}: expected FROM, WORKDIR, ENV, COPY or RUN")
    return place, variables


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path, help="an empty or new folder")
    parser.add_argument("--package", type=pathlib.Path,
                        help="a .deb that scripts/maintain/package.sh has made: skips the build stage")
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE",
                        help="as docker build takes it")
    given = parser.parse_args(arguments)
    if given.root.exists() and (not given.root.is_dir() or any(given.root.iterdir())):
        parser.error(f"{given.root} is not an empty folder")
    if given.package and not given.package.is_file():
        parser.error(f"--package is '{given.package}', which is not a file")
    stages = stages_of(steps_of((ROOT / "packaging/Dockerfile").read_text()), given.build_arg)
    try:
        for name, (image, steps) in stages.items():
            folder = given.root.resolve() / name
            if given.package and name == "build":
                (folder / "src/build/package").mkdir(parents=True)
                shutil.copy2(given.package, folder / "src/build/package")
                continue
            folder.parent.mkdir(parents=True, exist_ok=True)
            new_root(image, folder)
            place, variables = carry_out(steps, given.root.resolve(), folder)
        for program in ("SimAI_simulator", "SimAI_analytical", "cluster-sim-topology", "cluster-sim-sweep", "snakemake",
                        "mpirun -np 1 SimAI_phynet"):
            in_root(folder, place, variables, f"{program} --help > /dev/null")
    except StepFailed as failure:
        print(f"image-without-engine.py: failed: {failure}", file=sys.stderr)
        return 1
    print(f"the image is in {folder}; its programs print their help")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

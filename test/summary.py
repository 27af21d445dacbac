#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Says how many tests ran, how many were skipped, and why, from the JUnit files of one build's tests.

Usage: test/summary.py FOLDER
FOLDER/ctest.xml has an entry for each line of ctest, FOLDER/NAME.xml the single tests of entry NAME if it wrote
them (GoogleTest, pytest). An entry without such a file counts as one test. Exit status 1 if one failed or none ran.
"""
import collections
import pathlib
import sys
import xml.etree.ElementTree


def cases(path):
    """@return (name, outcome, reason) of each test of a JUnit file"""
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname', '')}.{case.get('name')}".lstrip(".")
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            yield name, "failed", ""
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            message = skipped.get("message", "") if skipped is not None else ""
            yield name, "skipped", message.strip().splitlines()[-1] if message.strip() else "no reason given"
        else:
            yield name, "passed", ""


def all_cases(folder):
    """@return the single tests of each entry of ctest; an entry that failed although its tests did not has crashed"""
    for entry, outcome, reason in cases(folder / "ctest.xml"):
        entry = entry.rsplit(".", 1)[-1]
        own = folder / f"{entry}.xml"
        tests = list(cases(own)) if own.exists() else []
        yield from tests
        if not tests or (outcome == "failed" and all(each[1] != "failed" for each in tests)):
            yield entry, outcome, reason


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    folder = pathlib.Path(sys.argv[1])
    tests = list(all_cases(folder))
    count = collections.Counter(outcome for _, outcome, _ in tests)
    skipped = collections.defaultdict(list)
    for name, outcome, reason in tests:
        if outcome == "failed":
            print(f"failed: {name}")
        elif outcome == "skipped":
            skipped[reason].append(name)
    for reason, names in sorted(skipped.items()):
        print(f"skipped {len(names)}: {reason} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Says how many tests ran, how many failed or were skipped, and why, from the files of one build's tests.

Usage: test/summary.py FOLDER
FOLDER/ctest.xml has an entry for each line of ctest, FOLDER/NAME.xml the single tests of entry NAME if it wrote
them (GoogleTest, pytest). Of an entry that was stopped, the single tests are those of FOLDER/NAME.progress (pytest)
or of its output (GoogleTest). An entry without any counts as one test. Exit status 1 if one failed, none ran, or
ctest was stopped.
"""
import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

LONGEST = 200  # characters of a reason
STOPPED = "was running when it was stopped"
ENDED = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


def line_of(text, which):
    """@return the first (0) or last (-1) line of a text that is not empty, or nothing"""
    lines = text.strip().splitlines()
    return lines[which].strip()[:LONGEST] if lines else ""


def cases(path):
    """@return (name, outcome, reason, output) of each test of a JUnit file"""
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname', '')}.{case.get('name')}".lstrip(".")
        skipped = case.find("skipped")
        wrong = next((found for found in (case.find("failure"), case.find("error")) if found is not None), None)
        output = case.findtext("system-out") or ""
        if wrong is not None or case.get("status") == "fail":
            yield name, "failed", line_of(wrong.get("message") or wrong.text or "",
                                          0) if wrong is not None else "", output
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            yield name, "skipped", line_of(skipped.get("message", "") if skipped is not None else "",
                                           -1) or "no reason given", output
        else:
            yield name, "passed", "", output


def of_stopped(events):
    """@param events (name, outcome, reason) as tests began and ended @return (name, outcome, reason) of each test"""
    found = {}
    for name, outcome, reason in events:
        if outcome != "begun":
            found[name] = name, outcome, reason
        else:
            found.setdefault(name, (name, "failed", STOPPED))
    return list(found.values())


def of_progress(path):
    """@return the tests that pytest had begun"""
    events = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            name, outcome, reason = json.loads(line)
            events.append((name, outcome, line_of(reason, -1 if outcome == "skipped" else 0)))
        except ValueError:  # the line at which it was stopped
            continue
    return of_stopped(events)


def of_output(text):
    """@return the tests that GoogleTest had begun"""
    events = []
    for outcome, name in re.findall(r"^\[ *(RUN|OK|FAILED|SKIPPED) *\] ([\w/]+\.[\w/]+)", text, re.MULTILINE):
        events.append((name, ENDED.get(outcome, "begun"), ""))
    return of_stopped(events)


def tests_of(folder, entry, output=""):
    """@return the single tests of an entry of ctest"""
    own, progress = folder / f"{entry}.xml", folder / f"{entry}.progress"
    if own.exists():
        try:
            return [case[:3] for case in cases(own)]
        except xml.etree.ElementTree.ParseError:  # it was stopped while it wrote
            pass
    return of_progress(progress) if progress.exists() else of_output(output)


def all_tests(folder):
    """@return the single tests of each entry of ctest; an entry that failed although its tests did not has crashed"""
    for entry, outcome, reason, output in cases(folder / "ctest.xml"):
        entry = entry.rsplit(".", 1)[-1]
        tests = tests_of(folder, entry, output)
        yield from tests
        if not tests or (outcome == "failed" and all(each[1] != "failed" for each in tests)):
            yield entry, outcome, reason


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    folder = pathlib.Path(sys.argv[1])
    whole = (folder / "ctest.xml").exists()
    if whole:
        tests = list(all_tests(folder))
    else:
        entries = sorted({path.stem for path in folder.glob("*") if path.suffix in (".xml", ".progress")})
        tests = [test for entry in entries for test in tests_of(folder, entry)]
    count = collections.Counter(outcome for _, outcome, _ in tests)
    skipped = collections.defaultdict(list)
    for name, outcome, reason in tests:
        if outcome == "failed":
            print(f"failed: {name}{f': {reason}' if reason else ''}")
        elif outcome == "skipped":
            skipped[reason].append(name)
    for reason, names in sorted(skipped.items()):
        print(f"skipped {len(names)}: {reason} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} "
          f"skipped{'' if whole else '; ctest was stopped before its end'}")
    return 1 if count["failed"] or not count["passed"] or not whole else 0


if __name__ == "__main__":
    sys.exit(main())

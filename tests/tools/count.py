#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the tests of one `meson test` run from its JSON log.

A cmocka program counts as many tests as it has (it prints TAP), golden as many as it has pictures;
any other program counts as one.
Prints each failure with the end of its output, each skip with its reason, and last a line
`passed failed skipped`.
"""
import json
import re
import sys

TAP = re.compile(r"^\s*(not ok|ok) \d+ - (.*)$")
SKIP = re.compile(r"^\s*(?:not ok|ok) \d+ # SKIP (.*)$")  # cmocka 1.1.5 calls them "not ok"
PICTURES = re.compile(r"^(\d+) of (\d+) pictures match$")  # tests/golden


def tap(text):
    """(passed, failed names, skipped names) of TAP output."""
    passed, failed, skipped = 0, [], []
    for line in text.splitlines():
        m = PICTURES.match(line)
        if m:
            passed += int(m[1])
            failed += ["a picture"] * (int(m[2]) - int(m[1]))
            continue
        m = SKIP.match(line)
        if m:
            skipped.append(m[1])
            continue
        m = TAP.match(line)
        if not m:
            continue
        if "# SKIP" in m[2]:
            skipped.append(m[2])
        elif m[1] == "ok":
            passed += 1
        else:
            failed.append(m[2])
    return passed, failed, skipped


def tail(entry, lines=40):
    text = (entry.get("stdout") or "") + (entry.get("stderr") or "")
    return "\n".join("    " + line for line in text.rstrip().splitlines()[-lines:])


def main(path):
    passed = failed = skipped = 0
    with open(path, encoding="utf-8", errors="replace") as log:
        entries = [json.loads(line) for line in log if line.strip()]
    for entry in entries:
        name, result = entry["name"], entry["result"]
        p, f, s = tap(entry.get("stdout") or "")
        if result == "SKIP":
            skipped += 1
            reason = ((entry.get("stdout") or entry.get("stderr") or "").strip() or "no reason")
            print(f"  skipped {name}: {reason.splitlines()[-1]}")
            continue
        passed += p
        skipped += len(s)
        for case in s:
            print(f"  skipped {name}: {case}")
        if result == "OK" and not f:
            passed += 0 if p or s else 1
            continue
        # A crash, a time-out or a sanitizer report is a failure even when every case passed.
        failed += max(len(f), 1)
        print(f"  FAILED {name} ({result}): {', '.join(f) or 'exit ' + str(entry.get('returncode'))}")
        print(tail(entry))
    print(passed, failed, skipped)


main(sys.argv[1])

#!/usr/bin/env python3
"""Prepares a release: sets the version, and dates what the changelog has under *Unreleased*. Commits nothing.

  packaging/release.py 0.2.0
"""

import argparse
import datetime
import pathlib
import re
import sys

VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("version", help="such as 0.2.0")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="of the release [default: today]")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    asked = parser.parse_args()
    files = {name: (asked.root / name).read_text() for name in ("Cargo.toml", "Cargo.lock", "CHANGELOG.md")}
    before = re.search(r'^version = "([^"]+)"$', files["Cargo.toml"], re.M).group(1)
    problem = refusal(before, asked.version, files["CHANGELOG.md"])
    if problem:
        sys.exit(f"error: {problem}")
    changed = {
        "Cargo.toml": files["Cargo.toml"].replace(f'version = "{before}"', f'version = "{asked.version}"', 1),
        "Cargo.lock": locked(files["Cargo.lock"], before, asked.version),
        "CHANGELOG.md": dated(files["CHANGELOG.md"], asked.version, asked.date),
    }
    for name, text in changed.items():
        (asked.root / name).write_text(text)
    print(f"{before} -> {asked.version}: Cargo.toml, Cargo.lock and CHANGELOG.md are changed. Next: RELEASING.md, step 3")


def refusal(before, version, changelog):
    """Why this cannot be the next version, if it cannot."""
    if not VERSION.fullmatch(version):
        return f'"{version}" is no version; it must be like 0.2.0'
    if f"\n## {version} " in changelog:
        return f"{version} is in CHANGELOG.md: it was released"
    number = lambda text: tuple(map(int, VERSION.fullmatch(text).groups()))
    released = re.findall(r"^## (\d+\.\d+\.\d+) ", changelog, re.M)
    if number(version) < number(before) or any(number(version) <= number(one) for one in released):
        return f"{version} is not above {max([before, *released], key=number)}"
    if not unreleased(changelog).strip():
        return "CHANGELOG.md has nothing under *Unreleased*: there is nothing to release"
    return None


def unreleased(changelog):
    _, _, rest = changelog.partition("\n## Unreleased\n")
    return re.split(r"^## ", rest, maxsplit=1, flags=re.M)[0]


def dated(changelog, version, date):
    return changelog.replace("\n## Unreleased\n", f"\n## Unreleased\n\n## {version} ({date})\n", 1)


def locked(lock, before, version):
    """The lock file with the new version of our own packages, which have no source."""
    packages = lock.split("\n\n")
    is_own = lambda text: text.startswith("[[package]]") and "\nsource = " not in text
    move = lambda text: text.replace(f'\nversion = "{before}"', f'\nversion = "{version}"', 1)
    return "\n\n".join(move(one) if is_own(one) else one for one in packages)


if __name__ == "__main__":
    main()

"""A package of npm with the program."""

import json

from archives import File, gzipped, tar

ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}


def package(program, licences, release):
    """The package: its file name and its bytes."""
    about = {
        "name": "proofload",
        "version": release.version,
        "description": "Runs load experiments and measures how much load a service sustains",
        "license": release.licence,
        "bin": {"proofload": "bin/proofload"},
        "os": ["linux"],
        "cpu": [ARCHITECTURES[release.architecture]],
    }
    files = [
        File("package.json", (json.dumps(about, indent=2) + "\n").encode()),
        File("bin/proofload", program, executable=True),
        *licences,
    ]
    packed = gzipped(tar(files, release.date, "package/"), release.level)
    return f"proofload-{release.version}-{release.architecture}-npm.tgz", packed

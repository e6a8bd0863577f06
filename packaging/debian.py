"""Debian packages."""

import hashlib

from archives import File, ar, gzipped, tar

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def package(name, about, files, release, depends=""):
    """A package of these files: its file name and its bytes."""
    architecture = ARCHITECTURES[release.architecture]
    size = sum((len(file.data) + 1023) // 1024 for file in files)
    control = [
        ("Package", name),
        ("Version", release.version),
        ("Architecture", architecture),
        ("Maintainer", "The Proofload developers <proofload@localhost>"),
        ("Installed-Size", str(size)),
        ("Depends", depends),
        ("Section", "net"),
        ("Priority", "optional"),
        ("Description", about),
    ]
    lines = "".join(f"{key}: {value}\n" for key, value in control if value)
    sums = "".join(f"{hashlib.md5(file.data).hexdigest()}  {file.name}\n" for file in files)
    about_it = [File("control", lines.encode()), File("md5sums", sums.encode())]
    pack = lambda files: gzipped(tar(files, release.date, "./"), release.level)
    members = [("debian-binary", b"2.0\n"), ("control.tar.gz", pack(about_it)), ("data.tar.gz", pack(files))]
    return f"{name}_{release.version}_{architecture}.deb", ar(members, release.date)

"""Archives whose bytes depend on what is in them alone: sorted names, one date, no owner."""

import gzip
import io
import stat
import tarfile
import time
import zipfile
from dataclasses import dataclass, field


@dataclass(frozen=True)
class File:
    """A file of an archive."""

    name: str
    data: bytes
    executable: bool = False
    attributes: dict = field(default_factory=dict)

    @property
    def mode(self):
        return 0o755 if self.executable else 0o644


def folders(files):
    """The folders that hold these files, outermost first."""
    found = set()
    for file in files:
        parts = file.name.split("/")[:-1]
        found.update("/".join(parts[:length]) for length in range(1, len(parts) + 1))
    return sorted(found)


def tar(files, date, prefix="", shared=()):
    """A tar of these files and their folders; everybody may write to the folders in `shared`."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in sorted({*folders(files), *shared}):
            about = member(prefix + folder, date, 0o1777 if folder in shared else 0o755)
            about.type = tarfile.DIRTYPE
            archive.addfile(about)
        for file in sorted(files, key=lambda file: file.name):
            about = member(prefix + file.name, date, file.mode)
            about.size, about.pax_headers = len(file.data), file.attributes
            archive.addfile(about, io.BytesIO(file.data))
    return out.getvalue()


def member(name, date, mode):
    about = tarfile.TarInfo(name)
    about.mtime, about.mode, about.uname, about.gname = date, mode, "root", "root"
    return about


def gzipped(data, level):
    return gzip.compress(data, compresslevel=level, mtime=0)


def zipped(files, date, level):
    """A zip of these files, in their order: a wheel ends with its list of files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for file in files:
            # A zip has no dates before 1980.
            about = zipfile.ZipInfo(file.name, max(time.gmtime(date)[:6], (1980, 1, 1, 0, 0, 0)))
            about.create_system, about.external_attr = 3, (stat.S_IFREG | file.mode) << 16
            about.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(about, file.data)
    return out.getvalue()


def ar(members, date):
    """The outer archive of a Debian package."""
    out = b"!<arch>\n"
    for name, data in members:
        out += f"{name:<16}{date:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
        out += data + b"\n" * (len(data) % 2)
    return out

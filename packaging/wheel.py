"""A wheel: the program, and the reader of its run folders."""

import base64
import hashlib

from archives import File, zipped

# A program that is linked statically runs beside either C library, of any age.
PLATFORM = "manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"


def package(program, reader, readme, licences, release):
    """The wheel of this program and these modules: its file name and its bytes."""
    platform = PLATFORM.format(release.architecture)
    home = f"proofload-{release.version}.dist-info"
    tags = "".join(f"Tag: py3-none-{one}\n" for one in platform.split("."))
    named = "".join(f"License-File: {one.name}\n" for one in licences)
    metadata = (
        f"Metadata-Version: 2.4\nName: proofload\nVersion: {release.version}\n"
        "Summary: Runs load experiments and measures how much load a service sustains; reads its run folders\n"
        f"License-Expression: {release.licence}\n{named}"
        "Requires-Python: >=3.9\nProvides-Extra: pandas\nRequires-Dist: pandas; extra == \"pandas\"\n"
        "Description-Content-Type: text/markdown\n\n" + readme
    )
    files = [
        *(File(f"proofload/{one.name}", one.data) for one in reader),
        File(f"proofload-{release.version}.data/scripts/proofload", program, executable=True),
        *(File(f"{home}/licenses/{one.name}", one.data) for one in licences),
        File(f"{home}/METADATA", metadata.encode()),
        File(f"{home}/WHEEL", f"Wheel-Version: 1.0\nGenerator: proofload\nRoot-Is-Purelib: false\n{tags}".encode()),
    ]
    record = "".join(f"{file.name},sha256={digest(file.data)},{len(file.data)}\n" for file in files)
    files.append(File(f"{home}/RECORD", f"{record}{home}/RECORD,,\n".encode()))
    return f"proofload-{release.version}-py3-none-{platform}.whl", zipped(files, release.date, release.level)


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()

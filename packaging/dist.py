#!/usr/bin/env python3
"""Makes all that is published, in `dist/`: archives, Debian packages, a wheel, an image, an SBOM and checksums.

Two runs from the same commit give the same bytes, wherever they lie.
"""

import argparse
import atexit
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, replace

import debian
import homebrew
import image
import materials
import npm
import wheel
from archives import File, gzipped, tar

ROOT = pathlib.Path(__file__).resolve().parent.parent
SYSTEMS = ("edge", "exchange", "mail", "registry", "search", "subscribers", "truth")
# A compiler of C for other machines.
ZIG = ROOT / ".zig/bin/python"
AUTHORITIES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True)
class Release:
    """What every artefact says of itself."""

    version: str
    licence: str
    architecture: str
    # Seconds since 1970: that of the commit.
    date: int
    # Of compression.
    level: int


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", default=f"{os.uname().machine}-unknown-linux-musl", help="what to build for")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "dist", help="the folder, made anew")
    parser.add_argument("--programs", type=pathlib.Path, help="pack the programs of this folder, and build none")
    parser.add_argument("--url", default="file:///dist", help="where the archives will lie, for Homebrew")
    parser.add_argument("--level", type=int, default=9, help="of compression")
    arguments = parser.parse_args()
    release = about(arguments)
    folder = arguments.programs or build(arguments.target, release)
    programs = {name: read(folder / name) for name in ("proofload", *(f"proofload-{one}" for one in SYSTEMS))}
    print("dist: packing ...", file=sys.stderr)
    made = artefacts(programs, release, arguments.target, arguments.url)
    shutil.rmtree(arguments.out, ignore_errors=True)
    arguments.out.mkdir(parents=True)
    sums = ""
    for name, data in sorted(made):
        (arguments.out / name).write_bytes(data)
        sums += f"{hashlib.sha256(data).hexdigest()}  {name}\n"
        print(f"{len(data) / 2**20:8.1f} MiB  {name}")
    (arguments.out / "SHA256SUMS").write_text(sums)


def about(arguments):
    package = tomllib.loads(read(ROOT / "Cargo.toml").decode())["workspace"]["package"]
    date = os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct")
    architecture = arguments.target.split("-")[0]
    return Release(package["version"], package["license"], architecture, int(date), arguments.level)


def read(path):
    try:
        return path.read_bytes()
    except OSError as error:
        sys.exit(f"error: cannot read {path}: {error.strerror}")


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def build(target, release):
    """Builds the programs, and returns the folder that holds them."""
    print(f"dist: building for {target} (a quarter of an hour on two processors) ...", file=sys.stderr)
    # No path of this machine is in a program, so that one from another folder is the same.
    cargo_home = os.environ.get("CARGO_HOME") or pathlib.Path.home() / ".cargo"
    moved = {ROOT: "/proofload", cargo_home: "/cargo", output("rustc", "--print", "sysroot"): "/rust"}
    rust = [f"--remap-path-prefix={path}={name}" for path, name in moved.items()]
    c = " ".join(f"-ffile-prefix-map={path}={name}" for path, name in moved.items())
    name = target.replace("-", "_")
    # Cargo strips no package that has a profile of its own, which the instrument has. A relocation takes a bit, not 24 bytes.
    rust += ["-Ctarget-feature=+crt-static", "-Cstrip=symbols", "-Clinker=rust-lld",
             "-Clink-arg=-zpack-relative-relocs"]
    environment = {**os.environ, **compiler(target, name), "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(rust),
                   f"CFLAGS_{name}": c, "SOURCE_DATE_EPOCH": str(release.date)}
    packages = [word for one in ("proofload", *SYSTEMS) for word in ("-p", one)]
    subprocess.run(["cargo", "build", "--profile", "dist", "--locked", "--target", target, *packages], cwd=ROOT,
                   env=environment, check=True)
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / target / "dist"


def compiler(target, name):
    """What compiles C, for Cargo."""
    if f"CC_{name}" in os.environ:
        return {}
    if target == f"{os.uname().machine}-unknown-linux-musl":
        return {f"CC_{name}": "musl-gcc"}
    if not target.endswith("-musl"):
        sys.exit(f"error: programs are linked with musl, which {target} does not have")
    if not ZIG.exists():
        sys.exit(f"error: nothing compiles C for {target}: run `scripts/prerequisites dist {target}` first")
    # It knows no vendors of machines, which Cargo's packages name.
    triple = target.replace("-unknown-", "-")
    folder = pathlib.Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    for tool in ("cc", "ar"):
        words = f"cc -target {triple} -fno-sanitize=all" if tool == "cc" else tool
        filtered = 'for word; do shift; [ "${word#--target=}" = "$word" ] && set -- "$@" "$word"; done'
        (folder / tool).write_text(f"#!/bin/sh\n{filtered}\nexec {ZIG} -m ziglang {words} \"$@\"\n")
        (folder / tool).chmod(0o755)
    return {f"{tool.upper()}_{name}": str(folder / tool) for tool in ("cc", "ar")}


def artefacts(programs, release, target, url):
    """Names and bytes of all that is published."""
    linked = materials.crates(target, ("proofload", *SYSTEMS))
    toolchain = output("rustc", "--version").split()[1]
    sbom = materials.sbom(linked, release, toolchain)
    further = [("musl", read(ROOT / "packaging/licences/musl.txt").decode()),
               (f"rust-std {toolchain}", "MIT OR Apache-2.0, the texts of which are those of Proofload.")]
    third = materials.licences(linked, further)
    documents = [File(name, read(ROOT / name)) for name in ("CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md")]
    documents += [File("THIRD-PARTY-LICENCES", third), File("sbom.cdx.json", sbom)]
    instrument, systems = instrument_files(programs["proofload"], target), systems_files(programs)
    below = lambda files, prefix: [replace(file, name=prefix + file.name) for file in files]
    about = lambda name: below(documents, f"share/doc/{name}/")
    plain = lambda name, files: archive(name, [*files, *about(name)], release)
    licences = [one for one in documents if "LICEN" in one.name]
    units = below(listing(ROOT / "packaging/systemd"), "usr/lib/systemd/system/")
    reader = listing(ROOT / "packaging/python/proofload")
    archives = [plain("proofload", instrument), plain("proofload-systems", systems)]
    readme = read(ROOT / "packaging/python/README.md").decode()
    return [
        *archives,
        debian.package("proofload", "measure how much load a service sustains",
                       below(packed_pages([*instrument, *about("proofload")], release), "usr/"), release),
        debian.package("proofload-systems", "services of known behaviour, and others, to measure",
                       [*below([*systems, *about("proofload-systems")], "usr/"), *units], release,
                       f"proofload (= {release.version})"),
        wheel.package(programs["proofload"], reader, readme, licences, release),
        npm.package(programs["proofload"], licences, release),
        image.package(programs["proofload"], read(AUTHORITIES), release),
        homebrew.formula(*archives, release, url),
        (f"proofload-{release.version}-sbom.cdx.json", sbom),
    ]


def archive(name, files, release):
    name = f"{name}-{release.version}"
    return (f"{name}-{release.architecture}-linux.tar.gz",
            gzipped(tar(files, release.date, f"{name}/"), release.level))


def instrument_files(program, target):
    """The instrument, its completions and its manual, as they lie below a prefix such as /usr/local."""
    machine = target.split("-")[0]
    runner = [] if machine == os.uname().machine else [f"qemu-{machine}-static"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "proofload")
        path.write_bytes(program)
        path.chmod(0o755)
        pages = pathlib.Path(folder, "pages")
        pages.mkdir()
        run = lambda *words: subprocess.run([*runner, path, *words], check=True, stdout=subprocess.PIPE).stdout
        run("manual", pages)
        return [
            File("bin/proofload", program, executable=True),
            File("share/bash-completion/completions/proofload", run("completions", "bash")),
            File("share/zsh/site-functions/_proofload", run("completions", "zsh")),
            File("share/fish/vendor_completions.d/proofload.fish", run("completions", "fish")),
            *(replace(page, name=f"share/man/man1/{page.name}") for page in listing(pages)),
        ]


def systems_files(programs):
    """The systems, and the experiments that use them."""
    found = [File(f"bin/{name}", data, executable=True) for name, data in programs.items() if name != "proofload"]
    named = output("git", "ls-files", "experiments").splitlines()
    return found + [File(f"share/proofload/{name}", read(ROOT / name)) for name in named]


def packed_pages(files, release):
    """The same with manual pages as Debian has them."""
    is_page = lambda file: file.name.startswith("share/man/")
    pack = lambda file: replace(file, name=file.name + ".gz", data=gzipped(file.data, release.level))
    return [pack(file) if is_page(file) else file for file in files]


def listing(folder):
    """The files of a folder."""
    return [File(path.name, read(path)) for path in sorted(folder.iterdir()) if path.is_file()]


if __name__ == "__main__":
    main()

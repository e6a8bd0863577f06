"""What the programs are made of: the crates that are linked into them, as an SBOM, and their licences."""

import datetime
import hashlib
import json
import pathlib
import subprocess
import tomllib
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
LICENCES = ("licen", "copying", "copyright", "notice", "unlicense")


def crates(target, packages):
    """The packages of other people that are linked into the programs of these, with what each of them depends on."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    known = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    about = {package["id"]: package for package in known["packages"]}
    waiting = [one for one in known["workspace_members"] if about[one]["name"] in packages]
    linked = {}
    while waiting:
        this = waiting.pop()
        if this in linked:
            continue
        is_normal = lambda dep: any(kind["kind"] is None for kind in dep["dep_kinds"])
        # What runs in the compiler alone is not linked, and neither is what only that needs.
        linked[this] = [dep["pkg"] for dep in nodes[this]["deps"] if is_normal(dep) and not is_macro(about[dep["pkg"]])]
        waiting += linked[this]
    found = [(about[this], [about[dep] for dep in deps]) for this, deps in linked.items()]
    return sorted(found, key=lambda one: (one[0]["name"], one[0]["version"]))


def is_macro(package):
    return any("proc-macro" in target["kind"] for target in package["targets"])


def sbom(linked, release, toolchain):
    """CycloneDX 1.6."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}
    foreign = [package for package, _ in linked if package["source"]]
    own = {package["id"] for package, _ in linked if not package["source"]}
    components = [component(one, checksums[one["name"], one["version"]]) for one in foreign]
    components.append({"type": "library", "bom-ref": "rust-std", "name": "rust-std", "version": toolchain})
    this = {"type": "application", "bom-ref": "proofload", "name": "proofload", "version": release.version,
            "licenses": [{"expression": release.licence}]}
    of_ours = {address(dep) for package, deps in linked if package["id"] in own for dep in deps if dep["source"]}
    dependencies = [{"ref": "proofload", "dependsOn": [*sorted(of_ours), "rust-std"]}]
    dependencies += [{"ref": address(package), "dependsOn": sorted({address(dep) for dep in deps})}
                     for package, deps in linked if package["source"]]
    date = datetime.datetime.fromtimestamp(release.date, datetime.timezone.utc).isoformat()
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": date, "component": this},
        "components": components,
        "dependencies": dependencies,
    }
    # The same contents have the same name.
    name = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return (json.dumps({**document, "serialNumber": f"urn:uuid:{name}"}, indent=1, sort_keys=True) + "\n").encode()


def component(package, checksum):
    found = {"type": "library", "bom-ref": address(package), "purl": address(package), "name": package["name"],
             "version": package["version"]}
    if checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["license"]:
        found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    return found


def address(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def licences(linked, further):
    """The licences of all of them, each text once, below the names of what it belongs to."""
    owners, texts = {}, {}
    for name, text in [*further, *(one for package, _ in linked if package["source"] for one in texts_of(package))]:
        key = hashlib.sha256(" ".join(text.split()).encode()).hexdigest()
        texts.setdefault(key, text.strip())
        owners.setdefault(key, []).append(name)
    keys = sorted(owners, key=lambda key: owners[key])
    parts = ["\n".join(sorted(set(owners[key]))) + "\n\n" + texts[key] for key in keys]
    head = "Proofload contains the work of others. These are the licences, each below what it belongs to.\n"
    return ("\n\n" + "=" * 78 + "\n\n").join([head, *parts]).encode() + b"\n"


def texts_of(package):
    """The texts of the licences of a package, or the name of its licence if it has none of them with it."""
    name = f"{package['name']} {package['version']} ({package['license'] or 'licence in its file'})"
    folder = pathlib.Path(package["manifest_path"]).parent
    named = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name.lower().startswith(LICENCES)]
    texts = [(name, path.read_text(errors="replace")) for path in named]
    return texts or [(name, f"No text comes with it. Its licence: {package['license']}")]

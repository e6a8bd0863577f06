"""An image of the instrument alone, for agents and their coordinator (docs/guide/kubernetes.md).

It has the program, linked statically, certificate authorities, and /tmp and /work that any user may write to. It has no
shell, no tar (so no `kubectl cp`), no other program (so no bundled systems, and no services of an experiment), no names of
users, and no time zones: the program needs none of them. It needs /dev/random and /etc/hosts or /etc/resolv.conf, which
every container has.
"""

import datetime
import hashlib
import json
import struct

from archives import File, gzipped, tar

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
CAP_SYS_NICE = 1 << 23


def capability():
    """Permits CAP_SYS_NICE and does not give it (`setcap cap_sys_nice=p`): so the program starts also where the container
    has no SYS_NICE, and takes real-time priority for its workers where it has."""
    value = struct.pack("<5I", 0x02000000, CAP_SYS_NICE, 0, 0, 0)
    return {"SCHILY.xattr.security.capability": value.decode("utf-8", "surrogateescape")}


def package(program, authorities, release):
    """The image as a tar that is both an OCI layout and what `docker load` of any age reads."""
    root = [
        File("proofload", program, executable=True, attributes=capability()),
        File("etc/ssl/certs/ca-certificates.crt", authorities),
    ]
    layer = tar(root, release.date, shared=("tmp", "work"))
    packed = gzipped(layer, release.level)
    date = datetime.datetime.fromtimestamp(release.date, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = document({
        "architecture": ARCHITECTURES[release.architecture],
        "os": "linux",
        "created": date,
        "config": {
            "User": "65532:65532",
            "WorkingDir": "/work",
            "Entrypoint": ["/proofload"],
            "Labels": {
                "org.opencontainers.image.title": "proofload",
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.licenses": release.licence,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + sha256(layer)]},
        "history": [{"created": date, "created_by": "make dist"}],
    })
    media = "application/vnd.oci.image."
    manifest = document({
        "schemaVersion": 2,
        "mediaType": media + "manifest.v1+json",
        "config": described(config, media + "config.v1+json"),
        "layers": [described(packed, media + "layer.v1.tar+gzip")],
    })
    tag = f"proofload:{release.version}"
    names = {"org.opencontainers.image.ref.name": release.version, "io.containerd.image.name": tag}
    index = document({
        "schemaVersion": 2,
        "mediaType": media + "index.v1+json",
        "manifests": [{**described(manifest, media + "manifest.v1+json"), "annotations": names}],
    })
    archive = [{"Config": blob(config), "RepoTags": [tag], "Layers": [blob(packed)]}]
    files = [
        File("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'),
        File("index.json", index),
        File("manifest.json", document(archive)),
        *(File(blob(data), data) for data in (config, packed, manifest)),
    ]
    return f"proofload-{release.version}-{release.architecture}-image.tar", tar(files, release.date)


def document(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def blob(data):
    return "blobs/sha256/" + sha256(data)


def described(data, media):
    return {"mediaType": media, "digest": "sha256:" + sha256(data), "size": len(data)}

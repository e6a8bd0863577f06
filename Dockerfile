# An image of the instrument alone, for agents and their coordinator (docs/guide/kubernetes.md):
#
#   docker build -t registry.example/proofload:0.1 .
#
# It has the program, linked statically, certificate authorities, and /tmp and /work that any user may write to.
# It has no shell, no tar (so no `kubectl cp`), no other program (so no bundled systems, and no services of an
# experiment), no names of users, and no time zones: the program needs none of them. It needs /dev/random and /etc/hosts or
# /etc/resolv.conf, which every container has.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates libcap2-bin
WORKDIR /source
COPY . .
# glibc finds names without libraries of its own since 2.34. `--target` keeps these flags from programs that run while
# it builds.
RUN RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked -p proofload \
        --target "$(uname -m)-unknown-linux-gnu" \
    && mkdir -p --mode=1777 /image/tmp /image/work \
    && install -D --mode=644 /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ca-certificates.crt \
    && install "target/$(uname -m)-unknown-linux-gnu/release/proofload" /image/proofload
# Permitted, and not given: so the program starts also where the container has no SYS_NICE, and takes real-time priority
# for its workers where it has.
RUN setcap cap_sys_nice=p /image/proofload

FROM scratch
COPY --from=build /image/ /
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/proofload"]

# syntax=docker/dockerfile:1
# The server, in an image without a shell. Anybody can build it from here. The release workflow builds it in the stage
# `program` on a machine of each architecture and hands both to the last stage (`--build-context program=…`); the Linux
# programs of the release, which have the demo too, it builds in the stage `archive`.

# The version is that of rust-toolchain.toml, which stays outside: it asks for more than a build needs.
FROM rust:1.95.0-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates clang cmake make python3 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# No .git comes along: the builder names the commit.
ARG LOOPGATE_COMMIT
ARG SOURCE_DATE_EPOCH
# Beside the program: the libraries that it links, the certificates that it trusts, and where names are looked up.
RUN .ci/build-release "$(rustc -vV | sed -n 's/^host: //p')" /out/usr/local/bin --no-default-features && \
    ldd /out/usr/local/bin/loopgate | grep -o '/[^ ]*' | \
        xargs cp --dereference --parents --target-directory=/out /etc/ssl/certs/ca-certificates.crt && \
    echo 'hosts: files dns' > /out/etc/nsswitch.conf
# What it is linked from, and under which licences.
RUN mkdir -p /out/usr/share/doc/loopgate && cp LICENSE-MIT LICENSE-APACHE /out/usr/share/doc/loopgate/ && \
    .ci/notices "$(rustc -vV | sed -n 's/^host: //p')" /out/usr/share/doc/loopgate/THIRD-PARTY-NOTICES.txt

FROM build AS build-with-demo
RUN .ci/build-release "$(rustc -vV | sed -n 's/^host: //p')" /with-demo

FROM scratch AS archive
COPY --from=build-with-demo /with-demo/loopgate /loopgate

FROM scratch AS program
ARG TARGETARCH
COPY --from=build /out /${TARGETARCH}
# An empty folder, to be owned by who runs the program.
WORKDIR /data

FROM scratch
ARG TARGETARCH
COPY --from=program --chmod=755 /${TARGETARCH} /
# Everything that is written goes here: the rest of the file system may be mounted read-only.
COPY --from=program --chown=65532:65532 /data /var/lib/loopgate
VOLUME /var/lib/loopgate
ENV LOOPGATE_DATA_DIR=/var/lib/loopgate TMPDIR=/var/lib/loopgate
# Unset, glibc raises this size with each large buffer that is freed, and keeps more memory afterwards: mallopt(3).
ENV MALLOC_MMAP_THRESHOLD_=262144
EXPOSE 8080
# Nobody's account: a number needs no /etc/passwd.
USER 65532:65532
HEALTHCHECK --interval=30s --timeout=3s --start-period=5s CMD ["/usr/local/bin/loopgate", "health"]
ENTRYPOINT ["/usr/local/bin/loopgate"]
CMD ["serve"]

# syntax=docker/dockerfile:1
# The server, in an image without a shell. Anybody can build it from here. The release workflow builds it in the stage
# `program` on a machine of each architecture and hands both to the last stage (`--build-context program=…`); the Linux
# programs of the release, which have the demo too, it builds in the stage `archive`.

FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends clang cmake make && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# No .git comes along: the builder names the commit.
ARG LOOPGATE_COMMIT
ARG SOURCE_DATE_EPOCH
RUN .ci/build-release "$(rustc -vV | sed -n 's/^host: //p')" /out --no-default-features

FROM build AS build-with-demo
RUN .ci/build-release "$(rustc -vV | sed -n 's/^host: //p')" /out

FROM scratch AS archive
COPY --from=build-with-demo /out/loopgate /loopgate

FROM scratch AS program
ARG TARGETARCH
COPY --from=build /out/loopgate /${TARGETARCH}/loopgate
# An empty folder, to be owned by who runs the program.
WORKDIR /data

FROM gcr.io/distroless/cc-debian12:nonroot
ARG TARGETARCH
COPY --from=program --chmod=755 /${TARGETARCH}/loopgate /usr/local/bin/loopgate
# Everything that is written goes here: the rest of the file system may be mounted read-only.
COPY --from=program --chown=nonroot:nonroot /data /var/lib/loopgate
VOLUME /var/lib/loopgate
ENV LOOPGATE_DATA_DIR=/var/lib/loopgate
EXPOSE 8080
USER nonroot
HEALTHCHECK --interval=30s --timeout=3s --start-period=5s CMD ["/usr/local/bin/loopgate", "health"]
ENTRYPOINT ["/usr/local/bin/loopgate"]
CMD ["serve"]

# syntax=docker/dockerfile:1
# The same binary `cargo build --release --locked` makes, in an image without a shell.

FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends cmake clang make && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --release --locked && mkdir /data

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /src/target/release/loopgate /usr/local/bin/loopgate
COPY --from=build --chown=nonroot:nonroot /data /var/lib/loopgate
# Everything that is written goes here: the rest of the file system may be mounted read-only.
VOLUME /var/lib/loopgate
ENV LOOPGATE_DATA_DIR=/var/lib/loopgate
EXPOSE 8080
USER nonroot
HEALTHCHECK --interval=30s --timeout=3s --start-period=5s CMD ["/usr/local/bin/loopgate", "health"]
ENTRYPOINT ["/usr/local/bin/loopgate"]
CMD ["serve"]

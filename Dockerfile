# syntax=docker/dockerfile:1
# CliGate with the coding agents of your choice:
#   docker build --build-arg AGENTS="claude codex" -t cligate .

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN make build VERSION="$VERSION"

FROM node:22-bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git openssh-client procps ripgrep \
 && rm -rf /var/lib/apt/lists/*
# Versions are pinned in the script; an agent that is not listed is not installed.
ARG AGENTS=claude
COPY .ci/image-agents /usr/local/lib/cligate/image-agents
RUN /usr/local/lib/cligate/image-agents $AGENTS
RUN groupadd --gid 10001 cligate \
 && useradd --uid 10001 --gid 10001 --create-home --home-dir /home/cligate --shell /bin/bash cligate \
 && mkdir -p /data /work \
 && chown cligate:cligate /data /work \
 && chmod 0700 /data
COPY --from=build /src/bin/cligate /usr/local/bin/cligate
ENV HOME=/home/cligate \
    CLIGATE_DATA_DIR=/data \
    CLIGATE_WORKSPACE=/work \
    CLIGATE_WEB_ADDR=0.0.0.0:8765
USER 10001:10001
WORKDIR /work
# The ledger; what agents work on; the agents' home, so that logins stay.
VOLUME ["/data", "/work", "/home/cligate"]
EXPOSE 8765
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 CMD ["cligate", "health"]
ENTRYPOINT ["cligate"]
CMD ["serve"]

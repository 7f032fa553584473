# The command that steers: `stateous token ...`. `make images` builds the wheels, then this.
ARG PYTHON_IMAGE=python:3.13-slim

# What it needs of others, pinned by hash. It changes seldom, and its layer is used again.
FROM ${PYTHON_IMAGE} AS dependencies
COPY images/cli.lock /build/
RUN --mount=type=cache,target=/var/cache/pip \
    python -m venv --without-pip /opt/stateous \
 && pip --python /opt/stateous/bin/python install --cache-dir /var/cache/pip --no-compile \
      --require-hashes --only-binary :all: -r /build/cli.lock \
 && /opt/stateous/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/stateous/lib

FROM ${PYTHON_IMAGE}
# Any uid may run it: it writes nothing.
RUN useradd --system --uid 10001 --gid 0 --no-create-home --home-dir / stateous
COPY --from=dependencies /opt/stateous /opt/stateous
RUN --mount=type=bind,source=dist,target=/dist \
    pip --python /opt/stateous/bin/python install --no-cache-dir --no-index --no-deps --no-compile \
      /dist/stateous_core-*.whl /dist/stateous_client-*.whl /dist/stateous_cli-*.whl \
 && /opt/stateous/bin/python -m compileall -q --invalidation-mode unchecked-hash \
      /opt/stateous/lib/python3*/site-packages/stateous*

ENV PATH=/opt/stateous/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001:0
# As process 1 it would not be ended by SIGTERM, for which it has no action of its own.
STOPSIGNAL SIGINT
# A command ends by itself: there is no health to check.
HEALTHCHECK NONE
ENTRYPOINT ["stateous"]
CMD ["--help"]

ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="stateous-cli" \
      org.opencontainers.image.description="The stateous command, for steering a control plane" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

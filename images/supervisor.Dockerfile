# The supervisor: `stateous-supervise FOLDER`. `make images` builds the wheels, then this.
# A folder is put into it by an image of its own, as examples/sdlc-supervisor/Dockerfile does.
# With the arguments `--scripts` it runs the scripts of charts, and needs no folder.
ARG PYTHON_IMAGE=python:3.13-slim

# What it needs of others, pinned by hash. It changes seldom, and its layer is used again.
FROM ${PYTHON_IMAGE} AS dependencies
COPY images/supervisor.lock /build/
RUN --mount=type=cache,target=/var/cache/pip \
    python -m venv --without-pip /opt/stateous \
 && pip --python /opt/stateous/bin/python install --cache-dir /var/cache/pip --no-compile \
      --require-hashes --only-binary :all: -r /build/supervisor.lock \
 && /opt/stateous/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/stateous/lib

FROM ${PYTHON_IMAGE}
# Any uid of group 0 may run it. The outbox in /supervisor/.stateous is all that it writes; a volume
# that is mounted there takes over its owner and mode.
RUN useradd --system --uid 10001 --gid 0 --no-create-home --home-dir /supervisor stateous \
 && install -d /supervisor \
 && install -d -o 10001 -g 0 -m 2770 /supervisor/.stateous
COPY --from=dependencies /opt/stateous /opt/stateous
COPY --chmod=555 images/entrypoint images/health_supervisor.py /opt/stateous/bin/
RUN --mount=type=bind,source=dist,target=/dist \
    pip --python /opt/stateous/bin/python install --no-cache-dir --no-index --no-deps --no-compile \
      /dist/stateous_core-*.whl /dist/stateous_client-*.whl /dist/stateous_supervisor-*.whl \
 && /opt/stateous/bin/python -m compileall -q --invalidation-mode unchecked-hash \
      /opt/stateous/lib/python3*/site-packages/stateous*

ENV PATH=/opt/stateous/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001:0
WORKDIR /supervisor
STOPSIGNAL SIGTERM
# It has its outbox open, and its control plane answers.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "/opt/stateous/bin/health_supervisor.py", "/supervisor"]
ENTRYPOINT ["entrypoint", "stateous-supervise"]
CMD ["/supervisor"]

ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="stateous-supervisor" \
      org.opencontainers.image.description="Runs the routines of Stateous workflows and charts, and the scripts of charts" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

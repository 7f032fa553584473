# The control plane: `stateous serve`. `make images` builds the wheels, then this.
ARG PYTHON_IMAGE=python:3.13-slim

# What it needs of others, pinned by hash. It changes seldom, and its layer is used again.
FROM ${PYTHON_IMAGE} AS dependencies
COPY images/controlplane.lock /build/
RUN --mount=type=cache,target=/var/cache/pip \
    python -m venv --without-pip /opt/stateous \
 && pip --python /opt/stateous/bin/python install --cache-dir /var/cache/pip --no-compile \
      --require-hashes --only-binary :all: -r /build/controlplane.lock \
 && /opt/stateous/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/stateous/lib

FROM ${PYTHON_IMAGE}
# Any uid of group 0 may run it. It writes to /data only, and there only with SQLite.
RUN useradd --system --uid 10001 --gid 0 --no-create-home --home-dir /data stateous \
 && install -d -o 10001 -g 0 -m 2770 /data
COPY --from=dependencies /opt/stateous /opt/stateous
COPY --chmod=555 images/entrypoint images/health_controlplane.py /opt/stateous/bin/
RUN --mount=type=bind,source=dist,target=/dist \
    pip --python /opt/stateous/bin/python install --no-cache-dir --no-index --no-deps --no-compile \
      /dist/stateous_core-*.whl /dist/stateous_client-*.whl /dist/stateous_controlplane-*.whl \
      /dist/stateous_cli-*.whl \
 && /opt/stateous/bin/python -m compileall -q --invalidation-mode unchecked-hash \
      /opt/stateous/lib/python3*/site-packages/stateous*

ENV PATH=/opt/stateous/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    STATEOUS_LISTEN=0.0.0.0:8080
USER 10001:0
WORKDIR /data
EXPOSE 8080
STOPSIGNAL SIGTERM
# It serves, or stands by for another one.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "/opt/stateous/bin/health_controlplane.py"]
ENTRYPOINT ["entrypoint", "stateous", "serve"]
# The graph file is mounted here.
CMD ["/workflow/graph.json"]

ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="stateous-controlplane" \
      org.opencontainers.image.description="The Stateous control plane: durable workflows over Postgres or SQLite" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

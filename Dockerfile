# One image, two commands: berth-operator and berth-scheduler.
# Its wheels are made beforehand by `make wheels`, so that the build itself needs no network.
ARG BASE_IMAGE=python:3.13-slim

FROM ${BASE_IMAGE} AS build
COPY dist/wheels /wheels
RUN python3 -m venv --without-pip /opt/berth \
 && python3 -m pip --python /opt/berth/bin/python install --no-index --no-cache-dir --find-links /wheels --no-compile \
      berth-operator "berth-runtime[uvloop]" \
 && /opt/berth/bin/python -m compileall -q /opt/berth/lib

FROM ${BASE_IMAGE}
COPY --from=build /opt/berth /opt/berth
COPY LICENSE THIRD_PARTY_NOTICES.md /usr/share/doc/berth/
ENV PATH=/opt/berth/bin:/usr/local/bin:/usr/bin:/bin PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
WORKDIR /tmp
CMD ["berth-operator"]

# An image with Python, cynet and its server, run by a user without rights (docs/deployment.md):
#
#   docker build -t cynet .                                        compiles for ten minutes on two cores
#   docker run --rm cynet                                          what is in it
#   docker run --rm -p 8080:8080 -v "$PWD:/models:ro" cynet serve model --shape 4 --port 8080 --host 0.0.0.0
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN pip wheel --wheel-dir /wheels '.[serve]'

FROM python:${PYTHON}-slim
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/*
# oneDNN's wheel has its library three times; one is used
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels 'cynet-mx[serve]' \
    && cd "$(python -c 'import sysconfig; print(sysconfig.get_path("data"))')/lib" \
    && rm -f libdnnl.so libdnnl.so.3.[0-9]*
WORKDIR /models
USER nobody
ENTRYPOINT ["cynet"]
CMD ["info"]

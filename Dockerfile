# The demo in a container: docker build -t clineprof . && docker run --rm clineprof
FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
    make gcc libc6-dev pkg-config libmsgpack-dev zlib1g-dev python3-dev
COPY . /clineprof
WORKDIR /clineprof
RUN make install
CMD ["ckernprof", "-l", "-v", "fixtures/demo.py"]

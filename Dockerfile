# The standalone server with its studio and its guide. Build it with `docker build -t colloquy .`; docs/operations.md says how to run it.
# The base is named by its digest, so that a build takes the same one each time: `docker buildx imagetools inspect node:24-slim` tells the newest.
FROM node:24-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df AS packages
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
COPY packages/core/package.json packages/core/
COPY packages/adapters/package.json packages/adapters/
COPY packages/testing/package.json packages/testing/
COPY packages/http/package.json packages/http/
COPY packages/ws/package.json packages/ws/
COPY packages/studio/package.json packages/studio/
COPY packages/server/package.json packages/server/
COPY packages/colloquy/package.json packages/colloquy/
COPY examples/package.json examples/
# No scripts of packages are run: the image needs none of them, and Node is there already.
RUN npm ci --omit=dev --ignore-scripts

FROM node:24-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8787 COLLOQUY_DATA_DIR=/data
WORKDIR /app
COPY --from=packages /app/ ./
COPY packages/ packages/
COPY examples/ examples/
COPY docs/ docs/
COPY llms.txt README.md ARCHITECTURE.md GLOSSARY.md CONTRIBUTING.md SECURITY.md CHANGELOG.md ./
RUN install -d -o node -g node /data
# The server writes to /data and /tmp alone and needs no right of root: compose.yaml runs it read-only and without capabilities.
USER node
VOLUME /data
EXPOSE 8787
# The database answers, and the server is not ending.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--conditions=colloquy-source", "--disable-warning=ExperimentalWarning", "packages/server/src/main.ts"]

/**
 * A service with telemetry: spans, metrics and log lines go to an OpenTelemetry collector (OTLP over HTTP), and a Prometheus server can
 * read `/metrics`. All of it is a layer over the kernel; the kernel itself knows neither. `docs/operations.md` shows this file.
 */
import { webHandler } from "@colloquy/http"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Otlp from "effect/observability/Otlp"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { createServer } from "node:http"
import { kernel } from "./kernel.ts"

const telemetry = Otlp.layer({
  baseUrl: process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? "http://127.0.0.1:4318",
  resource: { serviceName: "support-chat", serviceVersion: "1.0.0" }
}).pipe(Layer.provide([OtlpSerialization.layerJson, FetchHttpClient.layer]))

export const ai = webHandler({
  kernel: kernel.pipe(Layer.provideMerge(telemetry)),
  basePath: "/ai",
  authenticate: () => "ada"
})

export const server = createServer((request, response) => {
  if (request.url !== "/metrics") return ai.node(request, response)
  const text = Effect.runSync(PrometheusMetrics.format())
  response.writeHead(200, { "content-type": "text/plain; version=0.0.4" }).end(text)
})

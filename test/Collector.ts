/** An OpenTelemetry collector for the test: accepts OTLP over HTTP in JSON, refuses everything else, and keeps what it received. */
import * as Schema from "effect/Schema"
import { createServer } from "node:http"

const Value = Schema.Struct({
  stringValue: Schema.optionalKey(Schema.String),
  intValue: Schema.optionalKey(Schema.Union([Schema.Int, Schema.String])),
  doubleValue: Schema.optionalKey(Schema.Finite),
  boolValue: Schema.optionalKey(Schema.Boolean),
  arrayValue: Schema.optionalKey(Schema.Struct({ values: Schema.Array(Schema.Json) }))
})
const Attributes = Schema.Array(Schema.Struct({ key: Schema.String, value: Value }))
const Resource = Schema.Struct({ attributes: Attributes })
const Nanos = Schema.String.check(Schema.isPattern(/^\d{19}$/u))
const hex = (length: number) => Schema.String.check(Schema.isPattern(new RegExp(`^[0-9a-f]{${length}}$`, "u")))

const Span = Schema.Struct({
  traceId: hex(32),
  spanId: hex(16),
  parentSpanId: Schema.optionalKey(hex(16)),
  name: Schema.String,
  kind: Schema.Int,
  startTimeUnixNano: Nanos,
  endTimeUnixNano: Nanos,
  attributes: Attributes
})

const Point = Schema.Struct({
  attributes: Attributes,
  startTimeUnixNano: Nanos,
  timeUnixNano: Nanos,
  count: Schema.optionalKey(Schema.Int),
  sum: Schema.optionalKey(Schema.Finite),
  bucketCounts: Schema.optionalKey(Schema.Array(Schema.Int)),
  explicitBounds: Schema.optionalKey(Schema.Array(Schema.Finite))
})
const Series = Schema.Struct({ dataPoints: Schema.Array(Point) })

const SentMetric = Schema.Struct({
  name: Schema.String,
  unit: Schema.String,
  sum: Schema.optionalKey(Series),
  gauge: Schema.optionalKey(Series),
  histogram: Schema.optionalKey(Series)
})

const Traces = Schema.Struct({
  resourceSpans: Schema.Array(
    Schema.Struct({ resource: Resource, scopeSpans: Schema.Array(Schema.Struct({ spans: Schema.Array(Span) })) })
  )
})
const Metrics = Schema.Struct({
  resourceMetrics: Schema.Array(
    Schema.Struct({
      resource: Resource,
      scopeMetrics: Schema.Array(Schema.Struct({ metrics: Schema.Array(SentMetric) }))
    })
  )
})

export type Attribute = string | number | boolean | ReadonlyArray<unknown> | null

const plainAttributes = (attributes: typeof Attributes.Type): Readonly<Record<string, Attribute>> =>
  Object.fromEntries(
    attributes.map(({ key, value: { arrayValue, boolValue, doubleValue, intValue, stringValue } }) => [
      key,
      stringValue ??
        (intValue === undefined ? undefined : Number(intValue)) ??
        doubleValue ??
        boolValue ??
        arrayValue?.values ??
        null
    ])
  )

const metricPoints = ({ gauge, histogram, sum }: typeof SentMetric.Type) =>
  (histogram ?? sum ?? gauge ?? { dataPoints: [] }).dataPoints

/** Starts it on a free port. */
export const openCollector = async () => {
  const bodies: Array<string> = []
  const refused: Array<string> = []
  const spans: Array<typeof Span.Type> = []
  let metrics: ReadonlyArray<typeof SentMetric.Type> = []
  const services = new Set<Attribute | undefined>()

  const take = (path: string, body: unknown) => {
    if (path === "/v1/traces") {
      for (const { resource, scopeSpans } of Schema.decodeUnknownSync(Traces)(body).resourceSpans) {
        services.add(plainAttributes(resource.attributes)["service.name"])
        spans.push(...scopeSpans.flatMap((scope) => scope.spans))
      }
    } else if (path === "/v1/metrics") {
      // Counts grow from the start of the process, so the newest ones contain all earlier ones.
      const { resourceMetrics } = Schema.decodeUnknownSync(Metrics)(body)
      for (const { resource } of resourceMetrics) services.add(plainAttributes(resource.attributes)["service.name"])
      metrics = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
    } else if (path !== "/v1/logs") throw new Error(`There is no ${path}`)
  }

  const server = createServer((request, response) => {
    const pieces: Array<Buffer> = []
    request.on("data", (piece: Buffer) => pieces.push(piece))
    request.on("end", () => {
      const text = Buffer.concat(pieces).toString()
      bodies.push(text)
      try {
        take(request.url ?? "", JSON.parse(text))
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
      } catch (error) {
        refused.push(String(error))
        response.writeHead(400).end()
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    /** Everything that was received, unchanged. */
    bodies,
    refused,
    services,
    spans: () => spans.map((span) => ({ ...span, attributes: plainAttributes(span.attributes) })),
    metric: (name: string) =>
      metrics
        .filter((each) => each.name === name)
        .flatMap((each) =>
          metricPoints(each).map((point) => ({
            ...point,
            unit: each.unit,
            attributes: plainAttributes(point.attributes)
          }))
        ),
    stop: () => new Promise<unknown>((resolve) => server.close(resolve))
  }
}

/**
 * A client whose socket is watched: how often it wrote, which is the number of round trips, and the plans that the server reports of
 * every statement that it runs, those inside of functions too (`auto_explain`, which needs a superuser). A coordinator of Citus reports instead
 * what it sends to other nodes.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { connect } from "node:net"
import type { Duplex } from "node:stream"
import { FrameReader } from "../../src/pglite/FrameReader.ts"

export interface Observed {
  roundTrips: number
  /** With `sent`, the statements that went to other nodes. */
  plans: Array<string>
}

const noticeResponse = 0x4e

const explainEverything = {
  session_preload_libraries: "auto_explain",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_nested_statements": "on",
  client_min_messages: "log"
}

/** With what each statement read: `Buffers: shared hit=…`. */
const explainReads = { ...explainEverything, "auto_explain.log_analyze": "on", "auto_explain.log_buffers": "on" }

/** What a coordinator of Citus sends to other nodes. */
const logSent = { "citus.log_remote_commands": "on" }

const startupParameters = { no: {}, plans: explainEverything, reads: explainReads, sent: logSent }

/** One connection, so that what is seen belongs to what was asked. */
export const observedClient = (url: string, observed: Observed, explain: keyof typeof startupParameters) =>
  PgClient.layerFrom(
    PgClient.make({
      url: Redacted.make(url),
      maxConnections: 1,
      stream: () => observedSocket(url, observed),
      startupParameters: startupParameters[explain]
    })
  ).pipe(Layer.orDie)

const observedSocket = (url: string, observed: Observed): Duplex => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port || 5432), noDelay: true })
  const frames = new FrameReader((type, body) => {
    const text = body.toString("utf8")
    if (type === noticeResponse && /plan:\n|Missuing /u.test(text)) observed.plans.push(text)
  })
  socket.on("data", (bytes) => frames.read(bytes))
  const write = socket.write.bind(socket)
  return Object.assign(socket, {
    write: (bytes: Uint8Array) => {
      observed.roundTrips++
      return write(bytes)
    }
  })
}

/** What was seen while an effect ran. */
export const observing = <A, E, R>(observed: Observed, effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    observed.roundTrips = 0
    observed.plans = []
    return Effect.map(effect, (value) => ({ value, roundTrips: observed.roundTrips, plans: observed.plans }))
  })

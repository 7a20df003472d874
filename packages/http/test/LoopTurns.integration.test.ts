/** Many requests that compute, behind Node's server: in which order they do it, for one client and for two. */
import { Metering, Principal } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import { say } from "@colloquy/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { MixedScheduler, Scheduler } from "effect/Scheduler"
import { once } from "node:events"
import { connect } from "node:net"
import { usedTime } from "../../../test/processorTime.ts"
import { LoopTurns } from "../src/LoopTurns.ts"
import { nodeHandler } from "../src/node/NodeHandler.ts"
import { keys, open } from "./Service.ts"
import { listen } from "./Sockets.ts"

const stepMillis = 5
const stepsOfRequest = 5
const crowd = 30

/** Computes for some milliseconds of the processor, which are at least as many of the clock. */
const useProcessor = () => {
  const end = usedTime() + stepMillis
  while (usedTime() < end);
}

interface Step {
  readonly owner: string
  /** The number of the turn of the event loop. */
  readonly turn: number
}

type Compute = (owner: string) => Effect.Effect<void>

/** For the owner that the request names, with a pause before each step. */
const stepByStep = (compute: Compute) =>
  Effect.gen(function* () {
    const owner = (yield* HttpServerRequest).headers["x-owner"] ?? ""
    const work = Effect.gen(function* () {
      for (let left = stepsOfRequest; left > 0; left--) {
        yield* Effect.yieldNow
        yield* compute(owner)
      }
    })
    yield* Principal.provide(owner)(work)
  })

/** As soon as the request is there, and as soon as its body is. */
const atOnce = (compute: Compute) =>
  Effect.gen(function* () {
    yield* compute("")
    yield* Effect.orDie((yield* HttpServerRequest).arrayBuffer)
    yield* compute("")
  })

/** A server whose requests compute. */
const serve = async (services: Context.Context<never>, work: typeof stepByStep | typeof atOnce = stepByStep) => {
  const steps: Array<Step> = []
  let turn = 0
  let isOpen = true
  const count = () => {
    turn++
    if (isOpen) setImmediate(count)
  }
  count()
  const step: Compute = (owner) =>
    Effect.sync(() => {
      steps.push({ owner, turn })
      useProcessor()
    })
  const answer = Effect.as(work(step), HttpServerResponse.text("done"))
  const app = { response: answer, services }
  const server = await listen(
    nodeHandler({ whenNeeded: () => Promise.resolve(app), secondsToRetry: () => 1, bodyTimeout: 10_000 })
  )
  const ask = async (owner: string) => {
    const response = await fetch(server.url, { headers: { "x-owner": owner } })
    assert.strictEqual(await response.text(), "done")
  }
  return {
    ask,
    url: server.url,
    steps,
    [Symbol.asyncDispose]: async () => {
      isOpen = false
      await server[Symbol.asyncDispose]()
    }
  }
}

const mostInOneTurn = (steps: ReadonlyArray<Step>): number => {
  const ofTurns = new Map<number, number>()
  for (const { turn } of steps) ofTurns.set(turn, (ofTurns.get(turn) ?? 0) + 1)
  return Math.max(...ofTurns.values())
}

/** Sends one request over each of many open connections in the same moment, twice: the server has accepted all of them before the second. */
const inOneMoment = async (url: string): Promise<void> => {
  const { hostname, port } = new URL(url)
  const sockets = Array.from({ length: crowd }, () => connect(Number(port), hostname))
  for (let round = 0; round < 2; round++) {
    const answers = sockets.map((socket) => once(socket, "data"))
    for (const socket of sockets) socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
    await Promise.all(answers)
  }
  for (const socket of sockets) socket.destroy()
}

describe("requests that compute", () => {
  it("let the event loop go on between them", async () => {
    await using server = await serve(Context.empty())
    await Promise.all(Array.from({ length: crowd }, () => server.ask("ada")))
    assert.strictEqual(server.steps.length, crowd * stepsOfRequest)
    assert.isAtMost(mostInOneTurn(server.steps), 4)
  })

  it("do so also when they come in the same moment, and their bodies end in the same moment", async () => {
    await using server = await serve(Context.empty(), atOnce)
    await inOneMoment(server.url)
    assert.strictEqual(server.steps.length, crowd * 2 * 2)
    assert.isAtMost(mostInOneTurn(server.steps), 4)
  })

  it("wait for one step of another client, not for one of each of its requests", async () => {
    await using server = await serve(Context.empty())
    const all = Array.from({ length: crowd }, () => server.ask("ada"))
    const begun = Promise.withResolvers<void>()
    const look = () => (server.steps.length < crowd ? void setImmediate(look) : begun.resolve())
    look()
    await begun.promise
    await server.ask("bob")
    await Promise.all(all)
    const owners = server.steps.map(({ owner }) => owner)
    const between = owners.slice(owners.indexOf("bob"), owners.lastIndexOf("bob"))
    assert.isAtMost(between.filter((owner) => owner === "ada").length, 3 * stepsOfRequest)
  })

  it("take turns down to what their turns ask of the kernel's ports", async () => {
    let scheduler: unknown
    const metering = Metering.of({
      ensureCredit: () =>
        Effect.withFiber((fiber) =>
          Effect.sync(() => {
            scheduler = fiber.cache.scheduler
          })
        ),
      record: () => Effect.void
    })
    await using service = await open([say("Done.")], { extra: Layer.succeed(Metering, metering) })
    await using server = await listen(service.node)
    const response = await fetch(`${server.url}/threads/messages`, {
      method: "POST",
      headers: { "x-api-key": keys.ada, "content-type": "application/json" },
      body: JSON.stringify({ content: "Who schedules?" })
    })
    assert.strictEqual(response.status, 200)
    assert.instanceOf(scheduler, LoopTurns)
  })

  it("are scheduled by the host's own scheduler, if it has chosen one", async () => {
    let made = 0
    class Own extends MixedScheduler {
      override makeDispatcher() {
        made++
        return super.makeDispatcher()
      }
    }
    await using server = await serve(Context.make(Scheduler, new Own()))
    await Promise.all(Array.from({ length: crowd }, () => server.ask("ada")))
    assert.isAtLeast(made, crowd)
  })
})

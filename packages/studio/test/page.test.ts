/** The state of the page without a browser: what it asks the server for, and what it makes of late, refused and lost answers. */
import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, it, vi } from "@effect/vitest"
import { pageGlobals, type PageGlobals } from "./PageGlobals.ts"

let globals: PageGlobals
let inspector: typeof import("../src/page/state/inspector.ts")
let stream: typeof import("../src/page/api/stream.ts")

beforeAll(async () => {
  globals = pageGlobals()
  inspector = await import("../src/page/state/inspector.ts")
  stream = await import("../src/page/api/stream.ts")
})
afterAll(() => globals.takeAway())
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] })
})
afterEach(() => {
  vi.useRealTimers()
})

const lines = (...events: ReadonlyArray<object>): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")

describe("following a run", () => {
  it("pauses after each lost connection, also while the run waits for a person", async () => {
    let requests = 0
    globals.serve((path) => {
      requests += 1
      if (requests > 200) return new Response(null, { status: 204 })
      if (path.endsWith("after=0"))
        return new Response(lines({ type: "tool_submit_required", run_id: "r", thread_id: "t", sequence: 1 }))
      throw new TypeError("no connection")
    })
    const stop = new AbortController()
    const seen: Array<string> = []
    const reading = { threadId: "t", stop: stop.signal, onEvent: ({ type }: { type: string }) => seen.push(type) }
    const followed = stream.followWhole("r", { ...reading, onBreak: (isBroken) => seen.push(`broken: ${isBroken}`) })
    await vi.advanceTimersByTimeAsync(3000)
    // After 0, 500, 1500 and 3000 milliseconds.
    assert.isAtMost(requests, 5)
    assert.deepStrictEqual(seen, ["tool_submit_required", "broken: true"])
    stop.abort()
    await followed
  })
})

describe("the turn that is looked into", () => {
  const run = { thread_id: "t", status: "IN_PROGRESS", sequence: 0, created_at: "2026-01-01T00:00:00Z", error: null }
  const inspection = { steps: [], prompts: [], failures: [], charges: [], helpers: [] }

  const serveRun = (answer: (reads: number) => Response | object) => {
    let reads = 0
    globals.serve((path) => {
      if (path.startsWith("/runs?")) return Response.json({ runs: [] })
      if (path.endsWith("/inspection")) return Response.json(inspection)
      const found = answer((reads += 1))
      return found instanceof Response ? found : Response.json({ ...run, ...found })
    })
    return () => reads
  }

  it("is read again until it has ended, also after a read that failed", async () => {
    const reads = serveRun((nth) => {
      if (nth === 2) throw new TypeError("no connection")
      return nth === 3
        ? new Response(null, { status: 503 })
        : { run_id: "a", status: nth < 5 ? "IN_PROGRESS" : "FAILED" }
    })
    await inspector.show("t", "a", null)
    await vi.advanceTimersByTimeAsync(5000)
    assert.strictEqual(reads(), 5)
    const turn = inspector.inspected.value
    assert.strictEqual(turn !== null && "run" in turn ? turn.run.status : null, "FAILED")
  })

  it("is not read again when it is gone", async () => {
    const reads = serveRun((nth) => (nth === 1 ? { run_id: "b" } : Response.json({ detail: "gone" }, { status: 404 })))
    await inspector.show("t", "b", null)
    await vi.advanceTimersByTimeAsync(5000)
    assert.strictEqual(reads(), 2)
  })

  it("is read at one interval, however often it is opened", async () => {
    const reads = serveRun(() => ({ run_id: "c" }))
    for (let times = 0; times < 4; times++) await inspector.refresh("t", "c")
    await vi.advanceTimersByTimeAsync(2100)
    assert.strictEqual(reads(), 8)
    inspector.close()
    await vi.advanceTimersByTimeAsync(2000)
    assert.strictEqual(reads(), 8)
  })
})

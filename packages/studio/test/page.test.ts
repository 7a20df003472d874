/** The state of the page without a browser: what it asks the server for, and what it makes of late, refused and lost answers. */
import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, it, vi } from "@effect/vitest"
import { pageGlobals, type PageGlobals } from "./PageGlobals.ts"

let globals: PageGlobals
let http: typeof import("../src/page/api/http.ts")
let inspector: typeof import("../src/page/state/inspector.ts")
let markdown: typeof import("../src/page/parts/MarkdownElements.ts")
let studio: typeof import("../src/page/state/studio.ts")
let stream: typeof import("../src/page/api/stream.ts")

beforeAll(async () => {
  globals = pageGlobals()
  http = await import("../src/page/api/http.ts")
  markdown = await import("../src/page/parts/MarkdownElements.ts")
  studio = await import("../src/page/state/studio.ts")
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

describe("what the server refuses", () => {
  const refusal = (response: () => Response): Promise<string> => {
    globals.serve(response)
    return http.json("/anything").then(
      () => "",
      (error: unknown) => (error instanceof http.Refused ? `${error.status} ${error.message}` : String(error))
    )
  }

  it("is told in words, whatever stands between the page and the server", async () => {
    const json = (body: unknown, status = 422) => refusal(() => Response.json(body, { status }))
    assert.strictEqual(await json({ detail: "Too <b>long</b>" }), "422 Too <b>long</b>")
    assert.strictEqual(await json({ detail: [{ loc: ["body", "name"], msg: "is empty" }] }), "422 name: is empty")
    const page = () => new Response("<html>bad gateway</html>", { status: 502 })
    assert.strictEqual(await refusal(page), "502 The server answered 502, without a reason.")
    for (const body of [null, {}, { detail: null }, { detail: "" }, { detail: [] }, { detail: [null] }, [1]])
      assert.strictEqual(await json(body), "422 The server answered 422, without a reason.", JSON.stringify(body))
    assert.strictEqual(await json({ detail: { any: "thing" } }), '422 {"any":"thing"}')
  })

  it("is a key that no request can carry, too, and not a server that is away", async () => {
    http.setKey("ключ")
    assert.match(await refusal(() => Response.json({})), /^401 .*other signs than a key has/u)
    assert.isTrue(http.isServerUp.value)
    http.setKey("")
  })
})

it("a storage that refuses keeps texts while the page is open", () => {
  const { getItem, setItem } = localStorage
  const refuse = () => {
    throw new DOMException("denied", "SecurityError")
  }
  Object.assign(localStorage, { getItem: refuse, setItem: refuse })
  try {
    http.setKey("kept")
    assert.strictEqual(http.getKey(), "kept")
    studio.choose({ model: "demo/demo-1" })
    http.setKey("")
  } finally {
    Object.assign(localStorage, { getItem, setItem })
  }
  assert.strictEqual(http.getKey(), "")
})

it("markdown that is nested too deep is shown as it was written", () => {
  const text = ">".repeat(5000)
  assert.include(JSON.stringify(markdown.markdown(text)), text)
})

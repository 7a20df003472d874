/** The state of the page without a browser: what it asks the server for, and what it makes of late, refused and lost answers. */
import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, it, vi } from "@effect/vitest"
import type * as Http from "../src/page/api/http.ts"
import type * as Streams from "../src/page/api/stream.ts"
import type * as Documents from "../src/page/state/documentLists.ts"
import type * as Playground from "../src/page/state/playground.ts"
import type * as Runs from "../src/page/state/runs.ts"
import type * as Tests from "../src/page/state/tests.ts"
import type * as Voice from "../src/page/state/voice.ts"
import type * as Waiting from "../src/page/state/waiting.ts"
import type * as Markdown from "../src/page/parts/MarkdownElements.ts"
import type * as Inspector from "../src/page/state/inspector.ts"
import type * as Studio from "../src/page/state/studio.ts"
import { pageGlobals, type PageGlobals } from "./PageGlobals.ts"

let globals: PageGlobals
let http: typeof Http
let inspector: typeof Inspector
let markdown: typeof Markdown
let documents: typeof Documents
let playground: typeof Playground
let runs: typeof Runs
let studio: typeof Studio
let tests: typeof Tests
let voice: typeof Voice
let stream: typeof Streams
let waiting: typeof Waiting

beforeAll(async () => {
  globals = pageGlobals()
  http = await import("../src/page/api/http.ts")
  markdown = await import("../src/page/parts/MarkdownElements.ts")
  documents = await import("../src/page/state/documentLists.ts")
  playground = await import("../src/page/state/playground.ts")
  runs = await import("../src/page/state/runs.ts")
  tests = await import("../src/page/state/tests.ts")
  voice = await import("../src/page/state/voice.ts")
  studio = await import("../src/page/state/studio.ts")
  inspector = await import("../src/page/state/inspector.ts")
  stream = await import("../src/page/api/stream.ts")
  waiting = await import("../src/page/state/waiting.ts")
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
  const before = localStorage
  const refuse = () => {
    throw new DOMException("denied", "SecurityError")
  }
  vi.stubGlobal("localStorage", { getItem: refuse, setItem: refuse })
  try {
    http.setKey("kept")
    assert.strictEqual(http.getKey(), "kept")
    studio.choose({ model: "demo/demo-1" })
    http.setKey("")
  } finally {
    vi.stubGlobal("localStorage", before)
  }
  assert.strictEqual(http.getKey(), "")
})

it("markdown that is nested too deep is shown as it was written", () => {
  const text = ">".repeat(5000)
  assert.include(JSON.stringify(markdown.markdown(text)), text)
})

describe("with other tabs, other keys and a slow server", () => {
  const answers = new Map<string, () => Response | Promise<Response>>()
  const json = (body: object) => () => Response.json(body)
  const thread = (id: string, age = 0) => ({
    thread_id: id,
    assistant_id: "a-1",
    metadata_: { title: id },
    updated_at: `2026-01-0${9 - age}T00:00:00Z`,
    messages: []
  })
  const setThreads = (...ids: ReadonlyArray<string>) => {
    answers.set("/threads", json(ids.map(thread)))
    for (const id of ids) answers.set(`/threads/${id}`, json(thread(id)))
  }
  /** Holds the next answer for an address back. */
  const hold = (path: string): (() => void) => {
    const held = Promise.withResolvers<void>()
    const answer = answers.get(path)
    answers.set(path, async () => {
      if (answer !== undefined) answers.set(path, answer)
      const response = answer?.() ?? new Response(null, { status: 404 })
      await held.promise
      return response
    })
    return held.resolve
  }
  const settle = () => vi.advanceTimersByTimeAsync(100)
  const shown = () => [studio.conversation.threadId.value, location.hash]

  beforeAll(() => {
    answers.set("/capabilities", json({ evals: false }))
    answers.set("/models", json({ models: [] }))
    answers.set("/runs", json({ runs: [] }))
    answers.set("/assistants", json([{ assistant_id: "a-1", name: "Ada" }]))
    answers.set("/threads", () => {
      throw new TypeError("no connection")
    })
  })
  beforeEach(() => {
    globals.serve((path) => answers.get(path.replace(/\?.*/u, ""))?.() ?? new Response(null, { status: 404 }))
  })

  it("starts when the server is back, also if it went away in the middle of the start", async () => {
    studio.begin()
    await settle()
    assert.isFalse(studio.isStarted.value)
    assert.isNotNull(studio.assistants.value)
    setThreads("one", "two")
    await vi.advanceTimersByTimeAsync(4000)
    assert.isTrue(studio.isStarted.value)
    assert.deepStrictEqual(shown(), ["one", "#/talk/one"])
  })

  it("a thread that is opened while another tab's change is read is shown", async () => {
    const release = hold("/threads/two")
    void studio.openThread("two")
    globals.tellPage({ kind: "thread", threadId: "one", runId: "r", hasEnded: true })
    await settle()
    release()
    await settle()
    assert.deepStrictEqual(shown(), ["two", "#/talk/two"])
  })

  it("a thread that is made while another tab's change is read stays open, and in the list", async () => {
    studio.newThread()
    const release = hold("/threads")
    globals.tellPage({ kind: "threads" })
    answers.set("/assistants/a-1/threads", json(thread("made")))
    await studio.conversation.ensureThread("made")
    release()
    await settle()
    assert.deepStrictEqual(shown(), ["made", "#/talk/made"])
    assert.sameMembers(
      studio.threads.value.map(({ thread_id }) => thread_id),
      ["made", "one", "two"]
    )
  })

  it("an assistant that is made meanwhile stays too", async () => {
    const release = hold("/assistants")
    const list = studio.assistants.value ?? []
    globals.tellPage({ kind: "assistants" })
    const [ada] = list
    assert.isDefined(ada)
    studio.assistants.value = [...list, { ...ada, assistant_id: "a-2" }]
    release()
    await settle()
    assert.deepStrictEqual(
      studio.assistants.value?.map(({ assistant_id }) => assistant_id),
      ["a-1", "a-2"]
    )
  })

  it("Back leads to the thread of the address, also while another one is being opened", async () => {
    await studio.openThread("one")
    const release = hold("/threads/two")
    void studio.openThread("two")
    globals.travel("#/talk/one")
    release()
    await settle()
    assert.deepStrictEqual(shown(), ["one", "#/talk/one"])
  })

  it("who works in another room stays there when another tab deletes the open thread or assistant", async () => {
    globals.travel("#/runs")
    setThreads("two")
    globals.tellPage({ kind: "threads" })
    await settle()
    assert.deepStrictEqual(shown(), [null, "#/runs"])
    answers.set("/assistants", json([{ assistant_id: "a-3", name: "Eve" }]))
    globals.tellPage({ kind: "assistants" })
    await settle()
    assert.deepStrictEqual([...shown(), studio.assistantId.value], [null, "#/runs", "a-3"])
  })

  it("shows nothing of the owner of an earlier key", async () => {
    await studio.openThread("two")
    globals.travel("#/runs")
    setThreads("theirs")
    answers.delete("/threads/two")
    await studio.start()
    assert.deepStrictEqual(shown(), [null, "#/runs"])
    globals.travel("#/talk/theirs")
    await settle()
    assert.deepStrictEqual(shown(), ["theirs", "#/talk/theirs"])
  })

  it("an answer that is cancelled before its first event is cancelled with it", async () => {
    answers.set("/threads/theirs", json(thread("theirs")))
    await studio.openThread("theirs")
    const cancelled: Array<string> = []
    const begun = Promise.withResolvers<void>()
    globals.serve(async (path) => {
      if (path.endsWith("/cancel")) cancelled.push(path)
      if (path !== "/threads/theirs/messages") return Response.json({ runs: [] })
      await begun.promise
      const about = { run_id: "r", message_id: "m" }
      return new Response(
        lines({ ...about, type: "run_started", sequence: 1 }, { ...about, type: "run_cancelled", sequence: 2 })
      )
    })
    const sent = studio.conversation.send({ body: { content: "Hello" }, attachments: [], audio: null }, "Hello")
    await studio.conversation.cancel()
    begun.resolve()
    await settle()
    await sent
    assert.deepStrictEqual(cancelled, ["/threads/theirs/runs/r/cancel"])
  })

  it("an answer under way that may not be followed any more is told", async () => {
    const message = { message_id: "m", role: "assistant", run_id: "r", status: "IN_PROGRESS", content: "" }
    answers.set("/threads/theirs", json({ ...thread("theirs"), messages: [message] }))
    answers.set("/threads/theirs/runs/r/events", () =>
      Response.json({ detail: "This key is revoked" }, { status: 401 })
    )
    http.setKey("k")
    await studio.openThread("theirs")
    await settle()
    assert.strictEqual(studio.keyProblem.value, "This key is revoked")
    assert.isFalse(studio.conversation.isRunning.value)
    http.setKey("")
  })
})

it("a button that is pressed twice acts once, and again when its action has ended", async () => {
  const button = new EventTarget()
  const ended: Array<() => void> = []
  button.addEventListener(
    "click",
    studio.pressing(() => new Promise<void>((resolve) => ended.push(resolve)))
  )
  for (let times = 0; times < 2; times++) button.dispatchEvent(new Event("click"))
  assert.lengthOf(ended, 1)
  for (const end of ended) end()
  await vi.advanceTimersByTimeAsync(1)
  button.dispatchEvent(new Event("click"))
  assert.lengthOf(ended, 2)
})

describe("what is read or made in a room", () => {
  const settle = () => vi.advanceTimersByTimeAsync(100)

  it("files are added beside those that the server refuses, and to the list of their assistant alone", async () => {
    const held = Promise.withResolvers<void>()
    globals.serve(async (path, { body, method }) => {
      if (method !== "POST") return Response.json([])
      const file = body instanceof FormData ? body.get("file") : null
      const filename = file instanceof File ? file.name : ""
      if (filename === "late") await held.promise
      return filename === "bad"
        ? Response.json({ detail: "This type is not read" }, { status: 422 })
        : Response.json({ document_id: filename, filename, status: "completed" })
    })
    const names = () => documents.ofAssistant.value.map(({ filename }) => filename)
    await documents.loadDocuments("a", null)
    const added = documents.addDocuments(
      { assistant: "a" },
      ["one", "bad", "two"].map((name) => new File(["x"], name))
    )
    const problem = await added.then(
      () => "",
      (error: unknown) => String(error)
    )
    assert.strictEqual(problem, "Error: bad: This type is not read")
    assert.deepStrictEqual(names(), ["one", "two"])
    const late = documents.addDocuments({ assistant: "a" }, [new File(["x"], "late")])
    await documents.loadDocuments("b", null)
    held.resolve()
    await late
    assert.deepStrictEqual(names(), [])
  })

  it("an experiment is followed to its end, also when the server does not answer for a moment", async () => {
    let reads = 0
    globals.serve((path) => {
      if (path.includes("/results")) return Response.json({ results: [], next_cursor: null })
      if (path.endsWith("/summary")) return Response.json({ variants: [], judges: [] })
      reads += 1
      if (reads === 2) return new Response(null, { status: 503 })
      return Response.json({
        experiment_id: "e",
        attempts: { done: reads },
        status: reads < 6 ? "running" : "completed"
      })
    })
    const followed = tests.followExperiment("e", new AbortController().signal)
    await vi.advanceTimersByTimeAsync(10_000)
    await followed
    assert.strictEqual(tests.shown.value?.experiment.status, "completed")
  })

  it("the list of runs is read when the server is back, and its stream ends with a key that is refused", async () => {
    let isAway = true
    let streams = 0
    let status = 200
    globals.serve((path) => {
      if (!path.startsWith("/runs/events"))
        return isAway ? new Response(null, { status: 503 }) : Response.json({ runs: [] })
      streams += 1
      return isAway ? new Response(null, { status: 503 }) : new Response(status === 200 ? "" : null, { status })
    })
    await runs.loadRuns({ status: "", assistant: "x", period: "day", words: "" }).catch(() => {})
    assert.notStrictEqual(runs.state.value, "loading")
    const followed = runs
      .followRuns(new AbortController().signal, () => {})
      .then(
        () => "ended",
        (error: unknown) => (error instanceof http.Refused ? error.status : String(error))
      )
    isAway = false
    await vi.advanceTimersByTimeAsync(2500)
    assert.strictEqual(runs.state.value, "ready")
    status = 429
    await vi.advanceTimersByTimeAsync(2000)
    status = 401
    const before = streams
    await vi.advanceTimersByTimeAsync(5000)
    assert.strictEqual(streams, before + 1)
    assert.strictEqual(await followed, 401)
  })

  it("the runs of an earlier key, which may be another owner's, are gone when a key is given", async () => {
    const filters = { status: "", assistant: "", period: "all", words: "" } as const
    const run = { status: "REQUIRES_ACTION", created_at: "2026-01-01T00:00:00Z" }
    let owner = "ada"
    globals.serve(() => Response.json({ runs: [{ ...run, run_id: owner, thread_id: owner }], next_cursor: null }))
    const names = () => [runs.shown.value, waiting.waiting.value].map((list) => list.map(({ run_id }) => run_id))
    http.setKey("ada")
    await runs.loadRuns(filters)
    await settle()
    assert.deepStrictEqual(names(), [["ada"], ["ada"]])
    const held = Promise.withResolvers<void>()
    globals.serve(async () => {
      await held.promise
      return Response.json({ runs: [{ ...run, run_id: owner, thread_id: owner }], next_cursor: null })
    })
    owner = "eve"
    http.setKey("eve")
    const read = runs.loadRuns(filters)
    assert.deepStrictEqual(names(), [[], []])
    held.resolve()
    await read
    await settle()
    assert.deepStrictEqual(names(), [["eve"], ["eve"]])
    http.setKey("")
  })

  it("the playground sends each message once, and shows the step of its address", async () => {
    const keys: Array<string | null> = []
    const held = Promise.withResolvers<void>()
    globals.serve(async (path, { headers }) => {
      if (path.startsWith("/threads/slow")) await held.promise
      if (path.endsWith("/inspection")) return Response.json({ steps: [], prompts: [] })
      if (path.includes("/runs/")) return Response.json({ assistant_id: path.includes("slow") ? "slow" : "quick" })
      if (path.startsWith("/assistants/") && path.endsWith("/import")) return Response.json({ thread_id: "scratch" })
      if (path.startsWith("/assistants/"))
        return Response.json({ assistant_id: path.slice(12), tools: [], model_options: null })
      if (!path.endsWith("/messages")) return new Response(null, { status: 404 })
      keys.push(new Headers(headers).get("idempotency-key"))
      const events =
        keys.length < 2 ? "" : lines({ type: "run_failed", run_id: "r", sequence: 1, message_id: "m", error: "" })
      return new Response(events)
    })
    let isSlow = true
    const slow = playground.beginWithStep(["slow", "r"], () => isSlow)
    isSlow = false
    await playground.beginWithStep(["quick", "r"], () => true)
    held.resolve()
    await slow
    assert.strictEqual(playground.assistantId.value, "quick")
    playground.lines.value = [{ role: "user", text: "Hello" }]
    playground.columns.value = playground.columns.value.slice(0, 1)
    const answered = playground.askAll()
    await vi.advanceTimersByTimeAsync(2000)
    await answered
    assert.lengthOf(keys, 2)
    assert.isNotNull(keys[0] ?? null)
    assert.strictEqual(keys[0], keys[1])
  })

  it("a voice session that is ended before its ticket came does not begin", async () => {
    const held = Promise.withResolvers<void>()
    globals.serve(async () => {
      await held.promise
      return Response.json({ websocket_path: "/x", ticket: "t", thread_id: "t" })
    })
    const begun = voice.begin({ assistantId: "a", threadId: null, model: "p/m" }).then(
      () => "",
      (error: unknown) => String(error)
    )
    await voice.end()
    held.resolve()
    await settle()
    assert.strictEqual(await begun, "")
    assert.strictEqual(voice.state.value, "off")
  })

  it("an address with a key that is no text does not stop the page", () => {
    globals.travel("#key=%ff")
    assert.notInclude(location.hash, "key")
    studio.offeredKey.value = null
  })
})

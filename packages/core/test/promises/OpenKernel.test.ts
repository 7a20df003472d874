/** The kernel as promises: what rejects and with what, on whose behalf, and what a caller who leaves does to a run. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, Crash, gate, pause, say, TestKernel } from "@colloquy/testing"
import {
  AssistantNotFound,
  type Kernel,
  Principal,
  StoreUnavailable,
  ThreadNotFound,
  Threads,
  type TurnEvent
} from "@colloquy/core"
import { KernelClosed, openKernel, type OpenKernel, type TurnOptions } from "@colloquy/core/promises"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const toFault = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (value) => assert.fail(`It resolved with ${JSON.stringify(value)}`),
    (fault: unknown) => fault
  )

const deltaTexts = async (events: AsyncIterable<TurnEvent>): Promise<ReadonlyArray<string>> => {
  const texts: Array<string> = []
  for await (const event of events) if (event._tag === "TextDelta") texts.push(event.text)
  return texts
}

const statusesIn = async (kernel: OpenKernel, threadId: string) =>
  (await kernel.threads.get(threadId)).messages.map(({ content, status }) => [status, content])

/** A model that says half a sentence and the rest when it is let go on. */
const halting = [say("Half"), gate(), say(", whole.")]

describe("a call", () => {
  it("rejects with the kernel's own error, by tag, by class and in words", async () => {
    const kernel = await TestKernel.open([])
    const missing = await toFault(kernel.threads.get("nowhere"))
    assert.deepInclude(missing, { _tag: "ThreadNotFound", threadId: "nowhere" })
    assert.instanceOf(missing, ThreadNotFound)
    assert.instanceOf(missing, Error)
    assert.include(missing.message, "There is no thread nowhere")
    assert.instanceOf(await toFault(kernel.send({ content: "Hi", assistantId: "none" })), AssistantNotFound)
    assert.include(String(await toFault(kernel.threads.get(""))), "An id must be a text that is not empty")
    const place = { threadId: "nowhere", runId: "none" }
    for (const work of [
      kernel.cancel(place),
      kernel.report(place),
      deltaTexts(kernel.follow(place)),
      deltaTexts(kernel.stream({ content: "" })),
      kernel.submitToolOutputs({ threadId: "nowhere", outputs: [] })
    ]) {
      const fault = await toFault(work)
      assert.match(String(Object(fault)["_tag"]), /^(RunNotFound|EmptyMessage|ThreadNotFound|NothingPending)$/u)
    }
    await kernel.close()
  })

  it("in the background gives the run at once; lists and changes of runs tell how it ends", async () => {
    const kernel = await TestKernel.open([halting])
    const changes = kernel.runs.events()[Symbol.asyncIterator]()
    const first = changes.next()
    await kernel.runs.list()
    const begun = await kernel.send({ content: "Hi", background: true })
    assert.strictEqual(begun.status, "IN_PROGRESS")
    await kernel.adjust("1 second")
    assert.deepInclude((await first).value?.run, { id: begun.runId, status: "IN_PROGRESS" })
    const second = changes.next()
    await kernel.run(kernel.model.reached())
    await kernel.run(kernel.model.release())
    while ((await kernel.report(begun)).run.status !== "COMPLETED") await kernel.adjust("1 second")
    await kernel.adjust("1 second")
    const last = (await second).value
    assert.deepInclude(last?.run, { id: begun.runId, status: "COMPLETED", contentPreview: "Half, whole." })
    await changes.return?.()
    const { next, runs } = await kernel.runs.list({ status: "COMPLETED", threadId: begun.threadId })
    assert.deepStrictEqual([next, runs], [null, [last?.run]])
    assert.strictEqual((await kernel.runs({ threadId: begun.threadId })).runs.length, 1)
    await kernel.close()
  })

  it("works for the owner that it names, and shows nothing to another", async () => {
    const kernel = await TestKernel.open([say("For Ada.")], { owner: "host" })
    const { runId, threadId } = await kernel.as("ada").send({ content: "Hi" })
    assert.lengthOf((await kernel.threads.get(threadId, { owner: "ada" })).messages, 2)
    for (const stranger of [kernel, kernel.as("bob")]) {
      assert.instanceOf(await toFault(stranger.threads.get(threadId)), ThreadNotFound)
      assert.deepStrictEqual(await stranger.threads.list(), [])
      assert.deepInclude(await toFault(stranger.cancel({ threadId, runId })), { _tag: "RunNotFound" })
      assert.deepInclude(await toFault(deltaTexts(stranger.follow({ threadId, runId }))), { _tag: "RunNotFound" })
    }
    assert.deepStrictEqual(await deltaTexts(kernel.follow({ threadId, runId }, { owner: "ada" })), ["For Ada."])
    await kernel.close()
  })

  it("without an owner is refused, and so is one whose owner is undefined by mistake", async () => {
    const kernel = await openKernel(TestKernel.layer([]))
    const fault = await toFault(kernel.send({ content: "Hi" }))
    assert.deepInclude(fault, { _tag: "OwnerMissing" })
    assert.include(String(fault), "has no owner")
    for (const owner of ["", undefined]) {
      assert.deepInclude(await toFault(kernel.as("ada").threads.list({}, { owner })), { _tag: "OwnerMissing" })
    }
    await kernel.close()
  })

  it("may be any effect over the services", async () => {
    const kernel = await TestKernel.open([])
    const owner = Principal.useSync(({ ownerId }) => ownerId)
    assert.strictEqual(await kernel.as("bob").run(owner), "bob")
    assert.deepStrictEqual(
      await kernel.run(Threads.use((threads) => threads.list({ page: { skip: 0, limit: 1 }, includeMessages: false }))),
      []
    )
    await kernel.close()
  })
})

describe("records", () => {
  it("assistants and threads are made, listed, changed and deleted", async () => {
    const kernel = await TestKernel.open([say("Hello.")])
    const { assistants, threads } = kernel
    const helper = await assistants.create({ name: "Helper", systemPrompt: "Be kind." })
    assert.strictEqual((await assistants.update(helper.id, { name: "Friend" })).name, "Friend")
    const { assistant: copy } = await assistants.clone(helper.id)
    assert.strictEqual(copy.name, "Friend Copy")
    assert.lengthOf(await assistants.list({ limit: 1 }), 1)
    assert.deepStrictEqual(
      (await assistants.list({ name: "Friend" })).map(({ id }) => id),
      [helper.id]
    )

    const thread = await threads.create({ assistantId: helper.id, metadata: { topic: "tea" } })
    const elsewhere = await threads.create({ assistantId: copy.id })
    await kernel.send({ threadId: thread.id, content: "Hi" })
    assert.strictEqual(kernel.model.requests[0]?.system, "Be kind.")
    const listed = await threads.list({ assistantId: helper.id, includeMessages: true })
    assert.deepStrictEqual(
      listed.map(({ messages, thread: { metadata } }) => [metadata, messages.length]),
      [[{ topic: "tea" }, 2]]
    )
    await threads.remove(elsewhere.id)
    assert.instanceOf(await toFault(threads.get(elsewhere.id)), ThreadNotFound)
    await assistants.remove(helper.id)
    assert.instanceOf(await toFault(assistants.get(helper.id)), AssistantNotFound)
    assert.instanceOf(await toFault(threads.create({ assistantId: helper.id })), AssistantNotFound)
    await kernel.close()
  })

  it("keys, models and billing are there as well", async () => {
    const kernel = await TestKernel.open([say("Hello.")])
    const { key, summary } = await kernel.keys.make("first")
    assert.match(key, /^cq_/u)
    await kernel.keys.register("second", "my own key")
    assert.deepStrictEqual(
      (await kernel.keys.list()).map(({ name }) => name),
      ["first", "second"]
    )
    await kernel.keys.revoke(summary.id)
    assert.deepInclude(await toFault(kernel.keys.revoke("none")), { _tag: "KeyNotFound" })
    await kernel.send({ content: "Hi" })
    assert.strictEqual(await kernel.billing.balance(), null)
    assert.strictEqual((await kernel.billing.recentUsage()).total, 1)
    assert.deepStrictEqual(await kernel.models.list({ limit: 5 }), { models: [], total: 0 })
    assert.deepInclude(await toFault(kernel.models.find("none")), { _tag: "ModelNotFound" })
    await kernel.close()
  })
})

describe("a signal", () => {
  it("that is aborted already lets nothing begin", async () => {
    const kernel = await TestKernel.open([])
    const signal = AbortSignal.abort("no")
    assert.strictEqual(await toFault(kernel.send({ content: "Hi" }, { signal })), "no")
    assert.strictEqual(await toFault(kernel.start({ content: "Hi" }, { signal })), "no")
    assert.strictEqual(await toFault(deltaTexts(kernel.stream({ content: "Hi" }, { signal }))), "no")
    assert.strictEqual(await toFault(kernel.threads.list({}, { signal })), "no")
    assert.deepStrictEqual(await kernel.threads.list(), [])
    await kernel.close()
  })

  const options: ReadonlyArray<readonly [TurnOptions, string, string]> = [
    [{}, "COMPLETED", "Half, whole."],
    [{ onLeave: "cancel" }, "CANCELLED", "Half"]
  ]
  describe.each(options)("and a turn with %j", (given, status, content) => {
    /** How the turn ends after the caller has left it at the gate. */
    const ends = async (kernel: TestKernel.OpenTestKernel) => {
      if (given.onLeave === undefined) await Effect.runPromise(kernel.model.release())
      const [found] = await kernel.threads.list()
      const threadId = found?.thread.id ?? ""
      // A further message waits for the thread, so the run before it has ended.
      await kernel.send({ threadId, content: "more" })
      assert.deepStrictEqual((await statusesIn(kernel, threadId))[1], [status, content])
      await kernel.close()
    }
    const open = () => TestKernel.open([halting, say("More.")])

    it("send rejects with its reason", async () => {
      const kernel = await open()
      const controller = new AbortController()
      const fault = toFault(kernel.send({ content: "Hi" }, { ...given, signal: controller.signal }))
      await Effect.runPromise(kernel.model.reached())
      controller.abort(new Error("gone"))
      assert.strictEqual(String(await fault), "Error: gone")
      await ends(kernel)
    })

    it("the wait for a reply rejects with its reason", async () => {
      const kernel = await open()
      const controller = new AbortController()
      const turn = await kernel.start({ content: "Hi" }, { ...given, signal: controller.signal })
      const fault = toFault(turn.reply())
      await Effect.runPromise(kernel.model.reached())
      controller.abort("gone")
      assert.strictEqual(await fault, "gone")
      await ends(kernel)
    })

    it("a stream rejects with its reason, also while nothing comes", async () => {
      const kernel = await open()
      const controller = new AbortController()
      const reading = toFault(deltaTexts(kernel.stream({ content: "Hi" }, { ...given, signal: controller.signal })))
      await Effect.runPromise(kernel.model.reached())
      controller.abort("gone")
      assert.strictEqual(await reading, "gone")
      await ends(kernel)
    })

    it("aborted while the turn is being stored, it rejects, and the run is what was asked for", async () => {
      const kernel = await open()
      const controller = new AbortController()
      const fault = toFault(kernel.start({ content: "Hi" }, { ...given, signal: controller.signal }))
      controller.abort("gone")
      assert.strictEqual(await fault, "gone")
      const [found] = await kernel.threads.list()
      if (given.onLeave === undefined) {
        await Effect.runPromise(kernel.model.reached())
        await ends(kernel)
      } else {
        assert.deepStrictEqual((await statusesIn(kernel, found?.thread.id ?? ""))[1]?.[0], "CANCELLED")
        await kernel.close().catch(() => {})
      }
    })

    it("a loop that breaks ends nothing but itself, unless it is asked to", async () => {
      const kernel = await open()
      for await (const event of kernel.stream({ content: "Hi" }, given)) if (event._tag === "TextDelta") break
      await Effect.runPromise(kernel.model.reached())
      await ends(kernel)
    })

    it("a reader that returns while it waits is let go at once", async () => {
      const kernel = await open()
      const turn = await kernel.start({ content: "Hi" }, given)
      await Effect.runPromise(kernel.model.reached())
      const reader = turn.events[Symbol.asyncIterator]()
      let step = await reader.next()
      while (step.done !== true && step.value._tag !== "TextDelta") step = await reader.next()
      const waiting = reader.next()
      assert.deepStrictEqual(await reader.return?.(), { done: true, value: undefined })
      assert.isTrue((await waiting).done)
      assert.isTrue((await reader.next()).done)
      await ends(kernel)
    })
  })

  it("lets a caller go at once, also when the store has not answered yet", async () => {
    const doom = await Effect.runPromise(Crash.make({ at: 1 }))
    const kernel = await TestKernel.open([], { stores: doom.stores(InMemory.layer) })
    const controller = new AbortController()
    const fault = toFault(kernel.start({ content: "Hi" }, { signal: controller.signal }))
    await Effect.runPromise(doom.died)
    controller.abort("gone")
    assert.strictEqual(await fault, "gone")
    await Effect.runPromise(doom.bury)
    await kernel.close()
  })

  it("that is aborted after the end changes nothing, and a pause for tools is an end", async () => {
    const kernel = await TestKernel.open([callTool("weather"), say("Sunny.")])
    const controller = new AbortController()
    const tools = [{ name: "weather", description: null, parameters: null }]
    const turn = await kernel.start({ content: "?", tools }, { onLeave: "cancel", signal: controller.signal })
    for await (const event of turn.events) if (event._tag === "ToolSubmitRequired") break
    controller.abort()
    const { toolCalls } = await kernel.threads
      .get(turn.threadId)
      .then(({ messages }) => messages.at(-1) ?? assert.fail("no message"))
    const outputs = toolCalls.map(({ id }) => ({ toolCallId: id, output: "sun" }))
    const next = await kernel.submitToolOutputs({ threadId: turn.threadId, runId: turn.runId, outputs })
    assert.deepStrictEqual(await deltaTexts(next.events), ["Sunny."])
    assert.strictEqual((await next.reply()).status, "COMPLETED")
    await kernel.close()
  })
})

describe("following", () => {
  it("reads a run from any process, after what is known already", async () => {
    const stores = InMemory.layerFrom(InMemory.makeState())
    const first = await TestKernel.open([say("a", "b", "c")], { stores })
    const second = await TestKernel.open([], { stores })
    const turn = await first.start({ content: "Hi", stream: true })
    await turn.reply()
    const seen: Array<TurnEvent> = []
    for await (const event of second.follow(turn)) seen.push(event)
    const b = seen.find((event) => event._tag === "TextDelta" && event.text === "b")?.sequence ?? assert.fail()
    assert.deepStrictEqual(await deltaTexts(second.follow({ ...turn, after: b })), ["c"])
    assert.strictEqual((await second.report(turn)).run.status, "COMPLETED")
    await first.close()
    await second.close()
  })

  it("reads the events of a turn as often as they are asked for", async () => {
    const kernel = await TestKernel.open([say("a", "b")])
    const turn = await kernel.start({ content: "Hi", stream: true })
    assert.deepStrictEqual(await deltaTexts(turn.events), ["a", "b"])
    assert.deepStrictEqual(await deltaTexts(turn.events), ["a", "b"])
    await kernel.close()
  })

  it("gives every event once to a reader that asks for several before the first is there", async () => {
    const kernel = await TestKernel.open([say("a", "b")])
    const reader = kernel.stream({ content: "Hi" })[Symbol.asyncIterator]()
    const steps = await Promise.all(Array.from({ length: 9 }, () => reader.next()))
    const texts = steps.map(({ done, value }) => (done === true ? "end" : "text" in value ? value.text : value._tag))
    assert.deepStrictEqual(texts, [
      "UserMessage",
      "RunStarted",
      "StepStarted",
      "a",
      "b",
      "StepEnded",
      "RunEnded",
      "end",
      "end"
    ])
    await kernel.close()
  })
})

describe("the end", () => {
  it("of a kernel rejects whatever comes after it, and can be asked for twice", async () => {
    const kernel = await TestKernel.open([say("Hi.")])
    const turn = await kernel.start({ content: "Hi" })
    await turn.reply()
    await Promise.all([kernel.close(), kernel[Symbol.asyncDispose]()])
    for (const work of [
      kernel.send({ content: "Hi" }),
      kernel.as("ada").threads.list(),
      kernel.models.list(),
      turn.reply(),
      deltaTexts(turn.events),
      deltaTexts(kernel.stream({ content: "Hi" }))
    ]) {
      assert.instanceOf(await toFault(work), KernelClosed)
    }
  })

  it("ends running turns with their terminal event, for those who read them and those who wait", async () => {
    const kernel = await TestKernel.open([[say("Half"), gate()]])
    const turn = await kernel.start({ content: "Hi", stream: true })
    const reply = turn.reply()
    const events: Array<TurnEvent> = []
    const reading = (async () => {
      for await (const event of turn.events) events.push(event)
    })()
    await Effect.runPromise(kernel.model.reached())
    await kernel.close()
    await reading
    assert.deepInclude(events.at(-1), { _tag: "RunFailed", content: "Half" })
    assert.strictEqual((await reply).status, "FAILED")
  })

  it("lets go of those who wait for another process", async () => {
    const stores = InMemory.layerFrom(InMemory.makeState())
    const worker = await TestKernel.open([[say("Half"), gate(), say(".")]], { stores })
    const reader = await TestKernel.open([], { stores })
    const turn = await worker.start({ content: "Hi", stream: true })
    await Effect.runPromise(worker.model.reached())
    const reading = toFault(deltaTexts(reader.follow(turn)))
    await reader.threads.list()
    await reader.close()
    assert.instanceOf(await reading, KernelClosed)
    await Effect.runPromise(worker.model.release())
    assert.strictEqual((await turn.reply()).content, "Half.")
    await worker.close()
  })

  it("has told its readers once: `return` after the fault of `next` resolves, as `Array.fromAsync` needs it", async () => {
    const stores = InMemory.layerFrom(InMemory.makeState())
    const worker = await TestKernel.open([[say("Half"), gate(), say(".")]], { stores })
    const reader = await TestKernel.open([], { stores })
    const turn = await worker.start({ content: "Hi", stream: true })
    await Effect.runPromise(worker.model.reached())
    const controller = new AbortController()
    const faultThenReturn = async (events: AsyncIterable<TurnEvent>) => {
      const iterator = events[Symbol.asyncIterator]()
      const fault = await toFault(
        (async () => {
          while ((await iterator.next()).done !== true);
        })()
      )
      assert.deepStrictEqual(await iterator.return?.(), { done: true, value: undefined })
      return fault
    }
    const unknown = await faultThenReturn(reader.follow({ threadId: turn.threadId, runId: "none" }))
    assert.deepInclude(unknown, { _tag: "RunNotFound" })
    const aborted = faultThenReturn(reader.follow(turn, { signal: controller.signal }))
    const closed = faultThenReturn(reader.follow(turn))
    await reader.threads.list()
    controller.abort("gone")
    assert.strictEqual(await aborted, "gone")
    await reader.close()
    assert.instanceOf(await closed, KernelClosed)
    await Effect.runPromise(worker.model.release())
    await worker.close()
  })

  it("may be waited for: draining refuses new turns and lets the running ones settle", async () => {
    const kernel = await TestKernel.open([[pause("5 seconds"), say("Done.")]])
    const turn = await kernel.start({ content: "Hi" })
    const drained = kernel.drain()
    assert.deepInclude(await toFault(kernel.send({ content: "Hi" })), { _tag: "ShuttingDown" })
    await kernel.adjust("5 seconds")
    await drained
    assert.strictEqual((await turn.reply()).content, "Done.")
    await kernel.close()
  })
})

describe("opening", () => {
  it("rejects with what kept the kernel from being built, and lets go of what was opened", async () => {
    const closed: Array<string> = []
    const opened = Layer.effectDiscard(
      Effect.acquireRelease(Effect.void, () => Effect.sync(() => void closed.push("pool")))
    )
    const down = Layer.effectDiscard(Effect.fail(new StoreUnavailable({ operation: "migrate" })))
    const layer = TestKernel.layer([]).pipe(Layer.provideMerge(down), Layer.provideMerge(opened))
    assert.deepInclude(await toFault(openKernel(layer)), { _tag: "StoreUnavailable", operation: "migrate" })
    assert.deepStrictEqual(closed, ["pool"])
  })

  it("gives one type, in production and in tests", () => {
    expectTypeOf<TestKernel.OpenTestKernel>().toExtend<OpenKernel<Kernel.Kernel>>()
    expectTypeOf<OpenKernel<Kernel.Kernel>>().toExtend<OpenKernel>()
  })
})

/** Work in the background, and all runs of an owner: a list, and a stream of changes in whatever process. On every store. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { InboxSettings } from "@colloquy/core/adapters"
import { callTool, gate, say } from "@colloquy/testing"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { keys, open, readEvents, type Service, tool } from "./Service.ts"

const settings = { poll: "20 millis", followersOfOwner: 2, followers: 4 } as const
const extra = Layer.succeed(InboxSettings, settings)

/** The changes that come until one fits. */
const updatesUntil = async (response: Response, isLast: (run: { readonly status: string }) => boolean) => {
  const found: Array<{
    readonly id: string
    readonly run: Readonly<Record<string, unknown>> & { readonly status: string }
  }> = []
  for await (const { data, id } of readEvents(response)) {
    assert.strictEqual(data.type, "run_updated")
    found.push({ id, run: data.run })
    if (isLast(data.run)) break
  }
  return found
}

const follow = (service: Service, after?: string, key = keys.ada) =>
  service.fetch("GET", "/runs/events", undefined, {
    key,
    headers: after === undefined ? {} : { "last-event-id": after }
  })

export const inbox = (stores: Layer.Layer<InMemory.Stores, unknown>): void => {
  let runtime: ManagedRuntime.ManagedRuntime<InMemory.Stores, unknown>
  let shared: Layer.Layer<InMemory.Stores>
  beforeAll(async () => {
    runtime = ManagedRuntime.make(stores)
    shared = Layer.succeedContext(await runtime.context())
  }, 60_000)
  afterAll(() => runtime.dispose())

  it("a message in the background is answered at once, and its run is listed and told to the end", async () => {
    await using service = await open([[gate(), say("It is done.")], callTool("weather", {})], { stores: shared, extra })
    const { thread_id } = (await service.call("POST", "/threads/messages", { content: "Hi", send_to_llm: false })).body
    const path = `/threads/${thread_id}/messages`
    const both = await service.call("POST", path, { content: "Hi", background: true, stream: true })
    assert.deepStrictEqual(
      [both.status, both.body.detail.map(({ loc }: { loc: unknown }) => loc)],
      [422, [["body", "background"]]]
    )
    const events = await follow(service)
    const headers = { "idempotency-key": "once" }
    const accepted = await service.call("POST", path, { content: "Work", background: true }, { headers })
    assert.strictEqual(accepted.status, 202)
    assert.deepStrictEqual(Object.keys(accepted.body).toSorted(), ["run_id", "status", "thread_id"])
    assert.deepInclude(accepted.body, { thread_id, status: "IN_PROGRESS" })
    const again = await service.call("POST", path, { content: "Work", background: true }, { headers })
    assert.deepStrictEqual([again.status, again.body.run_id], [202, accepted.body.run_id])
    assert.strictEqual((await service.call("POST", path, { content: "Work" }, { headers })).status, 409)
    assert.strictEqual(
      (await service.call("GET", "/runs?status=IN_PROGRESS")).body.runs[0].run_id,
      accepted.body.run_id
    )
    await service.run(service.model.release())
    const told = await updatesUntil(events, ({ status }) => status === "COMPLETED")
    const last = told.at(-1)
    const { run_id } = accepted.body
    const expected = {
      run_id,
      thread_id,
      status: "COMPLETED",
      steps: 1,
      content_preview: "It is done.",
      fault: null,
      schedule_id: null
    }
    assert.deepInclude(last?.run, expected)
    assert.strictEqual(typeof last?.run["first_token_at"], "string")

    const form = new FormData()
    for (const [name, value] of Object.entries({
      content: "Now",
      background: "true",
      tools: JSON.stringify([tool("weather")])
    }))
      form.set(name, value)
    const waits = await service.call("POST", path, form)
    assert.strictEqual(waits.status, 202)
    const missed = await updatesUntil(await follow(service, last?.id), ({ status }) => status === "REQUIRES_ACTION")
    assert.isTrue(missed.every(({ run }) => run["run_id"] === waits.body.run_id))
    const open_ = (await service.call("GET", "/runs?status=REQUIRES_ACTION")).body
    assert.deepStrictEqual([open_.runs.length, open_.runs[0].run_id, open_.next_cursor], [1, waits.body.run_id, null])

    const ids: Array<string> = []
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: { runs: ReadonlyArray<{ run_id: string }>; next_cursor: string | null } = (
        await service.call("GET", `/runs?limit=1&thread_id=${thread_id}${cursor === "" ? "" : `&cursor=${cursor}`}`)
      ).body
      ids.push(...page.runs.map((run) => run.run_id))
      cursor = page.next_cursor
    }
    assert.deepStrictEqual([ids.length, ids[0], ids[1]], [3, waits.body.run_id, run_id])
    const since = String(last?.run["created_at"])
    assert.strictEqual((await service.call("GET", `/runs?since=${since}`)).body.runs.length, 2)
    const wrong = await service.call("GET", "/runs?status=LOST&thread_id=x&since=never&limit=0&cursor=1&assistant_id=y")
    assert.deepStrictEqual([wrong.status, wrong.body.detail.length], [422, 6])
    assert.strictEqual((await follow(service, "x")).status, 422)
    await service.call("POST", `/threads/${thread_id}/runs/${waits.body.run_id}/cancel`)
  })

  it("a reader in another process is told too, another owner is not, and the number of readers is bounded", async () => {
    await using service = await open([say("One.")], { stores: shared, extra })
    await using other = await open([], { stores: shared, extra })
    const events = await follow(other)
    const { run_id } = (await service.call("POST", "/threads/messages", { content: "?" })).body
    const told = await updatesUntil(events, ({ status }) => status === "COMPLETED")
    assert.isTrue(told.every(({ run }) => run["run_id"] === run_id))
    const readers = [await follow(service), await follow(service)]
    for (const reader of readers) await reader.body?.getReader().read()
    const refused = await follow(service)
    assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [429, "60"])
    const theirs = await follow(service, undefined, keys.bob)
    assert.strictEqual(theirs.status, 200)
    await theirs.body?.cancel()
    assert.deepStrictEqual((await service.call("GET", "/runs", undefined, { key: keys.bob })).body, {
      runs: [],
      next_cursor: null
    })
  })
}

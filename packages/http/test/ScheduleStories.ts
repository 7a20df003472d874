/** Schedules, and answers that are sent again in the background, over HTTP and on every store. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { Schedules } from "@colloquy/core/schedules"
import { say, type ScriptStep, TestKernel } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Layer from "effect/Layer"
import { allEvents, type Answer, keys, open, serve, type Service } from "./Service.ts"

const openScheduled = (steps: ReadonlyArray<ScriptStep>, stores: Layer.Layer<InMemory.Stores>, most = 4) =>
  serve(Schedules.layer({ most }).pipe(Layer.provideMerge(TestKernel.layer(steps, { stores })), Layer.provide(stores)))

const unknown = "01a20967-ebec-77e4-a127-24805fbfb768"
const daily = { cron: "0 9 * * *", timezone: "Europe/Berlin", content: "Good morning", thread: "new" }

const refusedPlaces = ({ body, status }: Answer): ReadonlyArray<string> => {
  assert.strictEqual(status, 422)
  return body.detail.map(({ loc }: { loc: ReadonlyArray<string> }) => loc.slice(1).join("."))
}

/** What a run said that nobody waited for. */
const saidBy = async (service: Service, { body, status }: Answer): Promise<unknown> => {
  assert.strictEqual(status, 202)
  assert.deepStrictEqual(Object.keys(body).toSorted(), ["run_id", "status", "thread_id"])
  const events = await service.fetch("GET", `/threads/${body.thread_id}/runs/${body.run_id}/events`)
  const end = (await allEvents(events)).at(-1)?.data
  assert.strictEqual(end.type, "run_ended")
  return end.content
}

export const scheduleStories = (stores: () => Layer.Layer<InMemory.Stores>): void => {
  it("a schedule is made once for its key, listed, changed, paused, run, exported and deleted", async () => {
    await using service = await openScheduled([say("One."), say("Two.")], stores())
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "Clerk" })).body
    const path = `/assistants/${assistant_id}/schedules`
    const options = { headers: { "idempotency-key": "schedule-1" } }
    const made = await service.call("POST", path, { ...daily, metadata: { a: "\0\ud800" } }, options)
    assert.strictEqual(made.status, 201)
    const { created_at, next, schedule_id, updated_at, ...told } = made.body
    assert.deepStrictEqual(told, {
      ...daily,
      assistant_id,
      metadata: { a: "\0\ud800" },
      paused: false,
      on_missed: "once",
      last: null
    })
    assert.deepStrictEqual([next.length, next.toSorted(), updated_at], [5, next, created_at])
    const at = `${path}/${schedule_id}`
    assert.deepStrictEqual((await service.call("GET", at)).body, made.body)

    const { thread_id } = (await service.call("POST", `/assistants/${assistant_id}/threads`)).body
    const same = { thread: { thread_id }, metadata: null, on_missed: "skip", cron: "*/5 * * * *" }
    const changed = await service.call("PUT", at, same)
    assert.deepInclude(changed.body, { ...same, content: daily.content, created_at })
    const paused = (await service.call("PUT", at, { paused: true })).body
    assert.deepInclude(paused, { ...same, paused: true, next: [] })
    const again = await service.call("POST", path, { ...daily, metadata: { a: "\0\ud800" } }, options)
    assert.deepStrictEqual([again.status, again.body], [201, made.body])
    assert.strictEqual((await service.call("POST", path, daily, options)).status, 409)

    const now = { headers: { "idempotency-key": "now-1" } }
    const begun = await service.call("POST", `${at}/run`, undefined, now)
    assert.deepStrictEqual([await saidBy(service, begun), begun.body.thread_id], ["One.", thread_id])
    const repeated = await service.call("POST", `${at}/run`, undefined, now)
    assert.strictEqual(repeated.body.run_id, begun.body.run_id)
    await service.call("PUT", at, { thread: "new", paused: false })
    const fresh = await service.call("POST", `${at}/run`)
    assert.strictEqual(await saidBy(service, fresh), "Two.")
    assert.notStrictEqual(fresh.body.thread_id, thread_id)
    const { runs } = (await service.call("GET", `/runs?assistant_id=${assistant_id}`)).body
    assert.deepStrictEqual(
      runs.map((run: Record<string, unknown>) => [run["run_id"], run["schedule_id"]]),
      [fresh, begun].map(({ body }) => [body.run_id, schedule_id])
    )

    const ids = [schedule_id]
    for (let number = 0; number < 3; number++) ids.unshift((await service.call("POST", path, daily)).body.schedule_id)
    assert.strictEqual((await service.call("POST", path, daily)).status, 429)
    const listed: Array<string> = []
    for (let cursor: string | null = ""; cursor !== null;) {
      const query: string = cursor === "" ? "" : `&cursor=${cursor}`
      const { body } = await service.call("GET", `${path}?limit=3${query}`)
      listed.push(...body.schedules.map((each: Record<string, string>) => each["schedule_id"]))
      cursor = body.next_cursor
    }
    assert.deepStrictEqual(listed, ids)
    const exported = async (key?: string) =>
      (await service.call("GET", "/owners/me/export", undefined, key === undefined ? {} : { key })).text
    const archive = await exported()
    assert.include(archive, "schedules.jsonl")
    assert.includeMembers(archive.match(/(?<="schedule_id":")[^"]+/gu) ?? [], ids)
    assert.notInclude(await exported(keys.bob), schedule_id)

    const gone = (await service.call("DELETE", at)).body
    assert.deepInclude(gone, { schedule_id })
    for (const [method, place] of [
      ["GET", at],
      ["PUT", at],
      ["DELETE", at],
      ["POST", `${at}/run`]
    ] as const)
      assert.strictEqual((await service.call(method, place, method === "PUT" ? {} : undefined)).status, 404)
  })

  it("a schedule that is wrong is refused with every problem, and another owner's is as if it were not there", async () => {
    await using service = await openScheduled([], stores())
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "Clerk" })).body
    const path = `/assistants/${assistant_id}/schedules`
    const { schedule_id } = (await service.call("POST", path, daily)).body
    const at = `${path}/${schedule_id}`
    const before = (await service.call("GET", at)).body
    const elsewhere = (await service.call("POST", "/threads/messages", { content: "?", send_to_llm: false })).body
    const wrong = { cron: "x", timezone: "Nowhere/X", content: " ", thread: { thread_id: elsewhere.thread_id } }
    const untyped = { cron: 1, timezone: null, thread: "old", paused: "no", on_missed: "twice", metadata: [] }
    for (const [method, place] of [
      ["POST", path],
      ["PUT", at]
    ] as const) {
      const send = (body: object) => service.call(method, place, body)
      assert.deepStrictEqual(refusedPlaces(await send(wrong)), ["cron", "timezone", "content", "thread.thread_id"])
      const places = refusedPlaces(await send({ ...untyped, content: {} })).map((found) => found.split(".")[0])
      assert.includeMembers(places, ["cron", "content", "thread", "paused", "on_missed", "metadata"])
      assert.deepStrictEqual(refusedPlaces(await send({ ...daily, cron: "0 0 30 2 *" })), ["cron"])
      assert.deepStrictEqual(refusedPlaces(await send({ ...daily, content: "x".repeat(100_001) })), ["content"])
    }
    assert.includeMembers(
      [...refusedPlaces(await service.call("POST", path, {}))],
      ["cron", "timezone", "content", "thread"]
    )
    for (const query of ["limit=0", "limit=101", "cursor=x"])
      assert.strictEqual((await service.call("GET", `${path}?${query}`)).status, 422)
    const bobs = (await service.call("POST", "/assistants", { name: "B" }, { key: keys.bob })).body.assistant_id
    const places: ReadonlyArray<readonly [assistant: string, schedule: string, key: string]> = [
      [assistant_id, schedule_id, keys.bob],
      [bobs, schedule_id, keys.bob],
      [assistant_id, unknown, keys.ada],
      [unknown, schedule_id, keys.ada]
    ]
    for (const [assistant, schedule, key] of places) {
      const place = `/assistants/${assistant}/schedules/${schedule}`
      for (const [method, target, body] of [
        ["GET", place],
        ["PUT", place, { paused: true }],
        ["DELETE", place],
        ["POST", `${place}/run`]
      ] as const)
        assert.strictEqual((await service.call(method, target, body, { key })).status, 404, `${method} ${target}`)
    }
    for (const [method, body] of [["GET"], ["POST", daily]] as const)
      assert.strictEqual((await service.call(method, path, body, { key: keys.bob })).status, 404)
    const { thread_id } = elsewhere
    const theirs = { ...daily, thread: { thread_id } }
    const stolen = await service.call("POST", `/assistants/${bobs}/schedules`, theirs, { key: keys.bob })
    assert.strictEqual(stolen.status, 404)
    const nowhere = { ...daily, thread: { thread_id: unknown } }
    assert.strictEqual((await service.call("POST", path, nowhere)).status, 404)
    assert.strictEqual((await service.call("PUT", at, { thread: nowhere.thread })).status, 404)
    const mixed = await service.call("POST", path, { ...nowhere, cron: "x", paused: "no" })
    assert.deepStrictEqual(refusedPlaces(mixed).toSorted(), ["cron", "paused", "thread.thread_id"])
    assert.deepStrictEqual((await service.call("GET", at)).body, before)
  })

  it("a repeat begins nothing again when what the first request began was deleted since", async () => {
    await using service = await openScheduled(
      Array.from({ length: 5 }, () => say("Hi.")),
      stores(),
      100
    )
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "Clerk" })).body
    const send = (path: string, key: string, body: object = {}) =>
      service.call("POST", path, { content: "Hello", ...body }, { headers: { "idempotency-key": key } })
    const stateless = (key: string, body?: object) => send("/threads/messages", key, { assistant_id, ...body })
    const gone = async (repeat: () => Promise<Answer>) => {
      const { body, status } = await repeat()
      assert.strictEqual(status, 404)
      assert.include(body.detail, "deleted since")
    }

    const { thread_id } = (await stateless("gone-1")).body
    await saidBy(service, await stateless("gone-2", { background: true })).then((said) =>
      assert.strictEqual(said, "Hi.")
    )
    const { body: accepted } = await stateless("gone-2", { background: true })
    const second = accepted.thread_id
    for (const id of [thread_id, second])
      assert.strictEqual((await service.call("DELETE", `/threads/${id}`)).status, 200)
    await gone(() => stateless("gone-1"))
    const repeated = await stateless("gone-2", { background: true })
    assert.deepStrictEqual([repeated.status, repeated.body], [202, { ...accepted, status: "IN_PROGRESS" }])
    assert.strictEqual((await stateless("gone-1", { content: "Bye" })).status, 409)

    const third = (await stateless("gone-3")).body.thread_id
    const messages = `/threads/${third}/messages`
    await send(messages, "gone-4")
    const [, answer] = (await service.call("GET", `/threads/${third}`)).body.messages
    const back = { message_id: answer.message_id, keep: false }
    assert.strictEqual((await service.call("POST", `/threads/${third}/rewind`, back)).status, 200)
    await gone(() => send(messages, "gone-4"))
    assert.lengthOf((await service.call("GET", `/threads/${third}`)).body.messages, 2)

    const path = `/assistants/${assistant_id}/schedules`
    const { schedule_id } = (await service.call("POST", path, daily)).body
    const run = () =>
      service.call("POST", `${path}/${schedule_id}/run`, undefined, { headers: { "idempotency-key": "gone-5" } })
    const begun = await run()
    await saidBy(service, begun)
    assert.strictEqual((await service.call("DELETE", `${path}/${schedule_id}`)).status, 200)
    const again = await run()
    assert.deepStrictEqual([again.status, again.body.run_id], [202, begun.body.run_id])
    assert.lengthOf(service.model.requests, 5)
  })

  it("an answer is regenerated and edited in the background: in place and on a fork, once for a key", async () => {
    const steps = ["Hi.", "Place.", "Fork.", "Edited.", "Edited fork."].map((text) => say(text))
    await using service = await open(steps, { stores: stores() })
    const { thread_id } = (await service.call("POST", "/threads/messages", { content: "Hello" })).body
    const messages = async (id: string) => (await service.call("GET", `/threads/${id}`)).body.messages
    const said = async (id: string) => (await messages(id)).map(({ content }: { content: string }) => content)
    const act = async (name: "regenerate" | "edit", body: object, headers = {}) => {
      const [question, answer] = await messages(thread_id)
      const { message_id } = name === "edit" ? question : answer
      const path = `/threads/${thread_id}/messages/${message_id}/${name}`
      return { path, sent: await service.call("POST", path, { background: true, ...body }, { headers }) }
    }
    for (const name of ["regenerate", "edit"] as const) {
      const { sent } = await act(name, { content: "Bye", stream: true })
      assert.deepStrictEqual(refusedPlaces(sent), ["background"])
    }
    const headers = { "idempotency-key": "background-1" }
    const first = await act("regenerate", {}, headers)
    assert.strictEqual(await saidBy(service, first.sent), "Place.")
    const repeated = await service.call("POST", first.path, { background: true }, { headers })
    assert.deepStrictEqual([repeated.status, repeated.body.run_id], [202, first.sent.body.run_id])
    assert.deepStrictEqual(await said(thread_id), ["Hello", "Place."])
    const fork = (await act("regenerate", { in: "fork" })).sent
    assert.strictEqual(await saidBy(service, fork), "Fork.")
    assert.deepStrictEqual(await said(fork.body.thread_id), ["Hello", "Fork."])
    assert.strictEqual(await saidBy(service, (await act("edit", { content: "Bye" })).sent), "Edited.")
    const edited = (await act("edit", { content: "Ciao", in: "fork" })).sent
    assert.strictEqual(await saidBy(service, edited), "Edited fork.")
    assert.deepStrictEqual(await said(edited.body.thread_id), ["Ciao", "Edited fork."])
    assert.deepStrictEqual(await said(thread_id), ["Bye", "Edited."])
  })
}

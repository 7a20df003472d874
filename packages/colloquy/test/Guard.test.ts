/** Guards as plain async code. */
import { Colloquy, guard, HostedToolFailed, type PlainProvider, provider, tool, TurnRefused } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { assert, describe, it } from "@effect/vitest"
import * as Logger from "effect/Logger"

type Guard = Parameters<typeof guard>[0]

const open = (chat: NonNullable<PlainProvider["chat"]>, ...guards: ReadonlyArray<Guard>) =>
  Colloquy.open({
    store: inMemory(),
    providers: [provider({ id: "house", chat, models: ["house-1"] })],
    model: "house-1",
    owner: "ada",
    parts: guards.map(guard),
    layers: [Logger.layer([])],
    tools: [
      tool({ name: "look", description: "Looks", parameters: { type: "object" }, execute: () => "seen sk-3" }),
      tool({
        name: "fail",
        description: "Fails",
        parameters: { type: "object" },
        execute: () => {
          throw new HostedToolFailed({ message: "no" })
        }
      })
    ]
  })

const redact = async (text: string) => text.replaceAll(/sk-\d+/gu, "[key]")

const fails = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => assert.fail("it did not fail"),
    (error: unknown) => error
  )

describe("a guard", () => {
  it("redacts what comes in and what goes out, streamed, and sees for whom and what it reads", async () => {
    const read: Array<string> = []
    const seen: Array<unknown> = []
    await using colloquy = await open(
      async function* ({ messages }) {
        read.push(JSON.stringify(messages))
        if (read.length === 1) {
          yield "I look for sk"
          yield { text: "-2. ", toolCall: { name: "look", arguments: { key: "sk-2" } } }
        } else {
          yield "It is sk-"
          yield "3. Bye"
        }
      },
      {
        before: async (text, { kind, owner }) => {
          seen.push([kind, owner])
          return redact(text)
        },
        after: (text, { before, owner, tool: name }) => {
          seen.push([before.length, owner, name])
          return redact(text)
        }
      }
    )
    const texts: Array<string> = []
    const turn = await colloquy.start({ content: "Find sk-1", stream: true })
    for await (const event of turn.events) if (event._tag === "TextDelta") texts.push(event.text)
    assert.strictEqual(texts.join(""), "I look for [key]. \n\nIt is [key]. Bye")
    assert.notMatch(read.join(), /sk-\d/u)
    const { messages } = await colloquy.threads.get(turn.threadId)
    assert.strictEqual(messages[0]?.content, "Find [key]")
    assert.deepStrictEqual(seen, [
      ["message", "ada"],
      [0, "ada", null],
      [18, "ada", "look"],
      ["tool_output", "ada"],
      [18, "ada", null],
      [31, "ada", null]
    ])
  })

  it("refuses a message, which is not stored, and ends an answer, whose reply says why", async () => {
    await using colloquy = await open(
      async function* () {
        yield "Well. A bomb is easy. You take"
      },
      {
        before: (text) => (text.includes("card") ? { refuse: "Please send no card numbers." } : null),
        after: async (text) => (text.includes("bomb") ? { stop: "That is not our business." } : undefined)
      }
    )
    const refused = await fails(colloquy.send({ content: "My card" }))
    assert.instanceOf(refused, TurnRefused)
    assert.strictEqual(refused.message, "Please send no card numbers.")
    assert.deepStrictEqual(await colloquy.assistants.list(), [])
    const reply = await colloquy.send({ content: "How?" })
    assert.strictEqual(reply.status, "FAILED")
    assert.strictEqual(reply.content, "Well. ")
    if (reply.status === "FAILED")
      assert.deepInclude(reply.fault, { code: "review_stopped", message: "That is not our business." })
  })

  it("replaces an answer as a whole, before any of it is told", async () => {
    await using colloquy = await open(
      async function* () {
        yield "Well. A bomb is easy."
      },
      { by: "whole", after: (text) => (text.includes("bomb") ? { replace: "No." } : text) }
    )
    const { content, status } = await colloquy.send({ content: "How?" })
    assert.deepStrictEqual([status, content], ["COMPLETED", "No."])
  })

  it("that throws is never overlooked: the message is not stored, the answer is not told", async () => {
    let calls = 0
    const oops = () => {
      throw new Error("the guard is broken")
    }
    const answer = async function* () {
      calls++
      yield "Secret."
    }
    await using first = await open(answer, { before: oops })
    assert.match(String(await fails(first.send({ content: "Hi" }))), /the guard is broken/u)
    assert.deepStrictEqual([calls, await first.assistants.list()], [0, []])
    await using second = await open(answer, { after: oops })
    const reply = await second.send({ content: "Hi" })
    assert.deepInclude(reply, { status: "FAILED", content: "" })
    if (reply.status === "FAILED") assert.strictEqual(reply.fault.code, "review_failed")
  })

  it("is one of several, which work in the order of their names", async () => {
    await using colloquy = await open(
      async function* ({ messages }) {
        const last = messages.at(-1)
        yield last?.role === "user" ? JSON.stringify(last.content) : ""
      },
      { name: "b", before: (text) => `${text}b`, after: (text) => `${text}b` },
      { name: "a", before: (text) => `${text}a`, after: (text) => `${text}a` }
    )
    const { content } = await colloquy.send({ content: "x" })
    assert.strictEqual(content, '[{"type":"text","text":"xab"}]ab')
  })
})

/** Servers that ask a person in the middle of a call: the run waits as for an approval, in both kinds of revisions. */
import { Principal, Turns } from "@colloquy/core"
import { callTool, callTools, say, type ScriptStep } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { withAnswer } from "../../src/mcp/Elicitation.ts"
import type { Mcp } from "../../src/mcp/index.ts"
import { openDesk } from "./DeskServer.ts"
import { kernelWith, program, send, told, type ToolTurn } from "./ToolTurns.ts"

const desk = Effect.acquireRelease(
  Effect.promise(() => openDesk()),
  (each) => Effect.promise(() => each[Symbol.asyncDispose]())
)
const old: Mcp.McpServer = { name: "desk", ...program("ToolServerProcess.ts") }

const waiting = Turns.use((turns) => turns.approvals({ limit: 10, skip: 0 }))

const decide = Effect.fnUntraced(function* (decision: "approve" | "reject", args?: Readonly<Record<string, number>>) {
  const turns = yield* Turns
  const [call] = yield* waiting
  if (call === undefined) return assert.fail("No call waits.")
  const { id, runId, threadId } = call
  const given = { toolCallId: id, decision, ...(args === undefined ? {} : { arguments: args }) }
  const turn = yield* turns.decide({ threadId, runId, decisions: [given] })
  return yield* turn.reply
})

const story = <E>(
  name: string,
  server: Mcp.McpServer | typeof desk,
  steps: ReadonlyArray<ScriptStep>,
  body: Effect.Effect<void, E, ToolTurn>
) =>
  it.live(name, () =>
    Effect.gen(function* () {
      const known = "name" in server ? server : { name: "desk", url: (yield* server).url }
      yield* body.pipe(Principal.provide("ada"), Effect.provide(kernelWith([known], steps)))
    }).pipe(Effect.scoped)
  )

describe("a question of a server of 2026", () => {
  story(
    "waits with its form, refuses what does not fit, and comes back with the answer and the server's state",
    desk,
    [callTool("desk_book", { day: "Friday" }), say("Done.")],
    Effect.gen(function* () {
      assert.strictEqual((yield* send).status, "REQUIRES_ACTION")
      const [call] = yield* waiting
      assert.strictEqual(call?.question?.message, "How many seats?")
      const wrong = yield* Effect.flip(decide("approve", { seats: 0 }))
      assert.strictEqual(wrong._tag, "DecisionsRejected")
      assert.strictEqual((yield* decide("approve", { seats: 2 })).content, "Done.")
      assert.deepStrictEqual(yield* told, ['["kept",{"kind":"elicit","action":"accept","content":{"seats":2}}]'])
    })
  )

  story(
    "that a person declines is told to the server",
    desk,
    [callTool("desk_book", {}), say("Done.")],
    Effect.gen(function* () {
      yield* send
      yield* decide("reject")
      assert.deepStrictEqual(yield* told, ['["kept",{"kind":"elicit","action":"decline"}]'])
    })
  )

  story(
    "may stand beside another one, and may be followed by another one",
    desk,
    [callTool("desk_both", {}), say("Done."), callTool("desk_twice", {}, "b"), say("Done.")],
    Effect.gen(function* () {
      yield* send
      assert.strictEqual((yield* decide("approve", { seats: 1 })).status, "REQUIRES_ACTION")
      assert.strictEqual((yield* waiting)[0]?.question?.message, "Seats at night?")
      yield* decide("approve", { seats: 2 })
      assert.strictEqual((yield* told).at(-1), '[{"seats":1},{"seats":2}]')
      yield* send
      yield* decide("approve", { seats: 3 })
      yield* decide("approve", { seats: 4 })
      assert.strictEqual((yield* told).at(-1), '["{\\"seats\\":3}",{"seats":4}]')
    })
  )

  story(
    "without an end, or about what nobody can give, becomes a sentence for the model",
    desk,
    [callTools(["desk_endless", {}, "a"], ["desk_sample", {}, "b"]), say("Done.")],
    Effect.gen(function* () {
      assert.strictEqual((yield* send).status, "COMPLETED")
      const [endless, sample] = yield* told
      assert.strictEqual(endless, "Error: the tool wants its call again and again.")
      assert.match(sample ?? "", /^Error: /u)
    })
  )
})

describe("a question of an older server", () => {
  story(
    "waits, and the call is made again with the answer",
    old,
    [callTool("desk_book", {}), say("Done."), callTool("desk_book", { text: "2" }, "b"), say("Done.")],
    Effect.gen(function* () {
      yield* send
      assert.strictEqual((yield* waiting)[0]?.question?.message, "How many seats? (0)")
      yield* decide("approve", { seats: 2 })
      assert.strictEqual((yield* told).at(-1), '[["accept",{"seats":2}]]')
      yield* send
      yield* decide("approve", { seats: 3 })
      assert.strictEqual((yield* waiting)[0]?.question?.message, "How many seats? (1)")
      yield* decide("reject")
      assert.strictEqual((yield* told).at(-1), '[["accept",{"seats":3}],["decline",null]]')
    })
  )

  story(
    "belongs to its own call, also where several are under way",
    old,
    [callTools(["desk_book", {}, "a"], ["desk_echo", { text: "hello" }, "b"], ["desk_book", {}, "c"]), say("Done.")],
    Effect.gen(function* () {
      yield* send
      const turns = yield* Turns
      const calls = yield* waiting
      assert.deepStrictEqual(
        calls.map(({ id }) => id),
        ["a", "c"]
      )
      const [{ runId, threadId }] = [calls[0] ?? assert.fail("No call waits.")]
      const decisions = calls.map(({ id: toolCallId }, index) => ({
        toolCallId,
        decision: "approve" as const,
        arguments: { seats: index + 1 }
      }))
      yield* Effect.flatMap(turns.decide({ threadId, runId, decisions }), ({ reply }) => reply)
      assert.deepStrictEqual(yield* told, ['[["accept",{"seats":1}]]', "You said: hello", '[["accept",{"seats":2}]]'])
    })
  )
})

it("a form's own values stand where a person has said nothing", () => {
  const properties = {
    seats: { type: "integer", default: 2 },
    day: { type: "string", default: "Friday" },
    name: { type: "string" }
  }
  const asked = [{ key: "0", message: "When?", schema: { type: "object", properties } }]
  const state = { asked, requestState: null, responses: {}, count: 1 }
  assert.deepStrictEqual(withAnswer({ action: "accept", content: { seats: 3 }, state }).responses, {
    "0": { action: "accept", content: { seats: 3, day: "Friday" } }
  })
})

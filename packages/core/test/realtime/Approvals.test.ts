// Hosted calls that wait for a person, in a session whose client says that it asks one.
import type { HostedTool } from "@colloquy/core"
import { ScriptedRealtime, TestRealtime } from "@colloquy/testing"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { frame, voiceStory as story } from "../support/Voice.ts"

const { callTool, cancelTool, hang, hear, say } = ScriptedRealtime

const pay: HostedTool = {
  definition: { name: "pay", description: null, parameters: null },
  needsApproval: true,
  run: () => Effect.succeed("paid")
}

const outputs = Effect.map(TestRealtime.ScriptedVoice, ({ commands }) =>
  commands.flatMap((each) => (each._tag === "ToolOutputs" ? each.outputs.map(({ output }) => output) : []))
)

const script = [[hear("Pay."), callTool("pay", { amount: 5 }, "call_1"), say("Done."), hang]]
const decision = { _tag: "Approval", toolCallId: "call_1", isApproved: true, reason: null } as const

describe("approvals in a voice session", () => {
  story(
    "a call runs when it is approved, once",
    script,
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect({ approvals: true })
      yield* client.next("SessionBegin")
      client.send(decision)
      assert.strictEqual((yield* client.next("Error")).code, "invalid_frame")
      client.speak(frame)
      const asked = yield* client.next("ApprovalNeeded")
      assert.deepInclude(asked, { toolCallId: "call_1", name: "pay", arguments: { amount: 5 } })
      assert.deepStrictEqual(yield* outputs, [])
      client.send(decision)
      yield* client.next("ToolCompleted")
      assert.deepStrictEqual(yield* outputs, ["paid"])
      client.send(decision)
      assert.strictEqual((yield* client.next("Error")).code, "invalid_frame")
    }),
    { hosted: [pay] }
  )

  story(
    "a call that the vendor cancels waits for nothing",
    [[hear("Pay."), callTool("pay", {}, "call_1"), cancelTool("call_1"), say("Well."), hang]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect({ approvals: true })
      yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ToolCancelled")
      yield* client.next("ResponseDone")
      yield* client.next("ResponseDone")
      client.send(decision)
      assert.strictEqual((yield* client.next("Error")).code, "invalid_frame")
      assert.deepStrictEqual(yield* outputs, [])
    }),
    { hosted: [pay] }
  )

  story(
    "a client that asks nobody has the call refused",
    script,
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ToolCompleted")
      assert.match((yield* outputs)[0] ?? "", /^Error: not run\./)
    }),
    { hosted: [pay] }
  )
})

// The declarations of `colloquy` are written without Effect. Here they are compared with those of the kernel, and values of Effect are handed to
// them. `check-packages.ts` type-checks this file beside the packages as published.
import * as InMemory from "@colloquy/adapters/in-memory"
import * as OpenAi from "@colloquy/adapters/openai"
import * as Core from "@colloquy/core"
import type * as Adapters from "@colloquy/core/adapters"
import * as Promises from "@colloquy/core/promises"
import * as Plain from "colloquy"
import { documents } from "colloquy/documents"
import { memory } from "colloquy/memory"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/** True where each fits in place of the other and has the same fields. */
type Same<One, Other> = [One, keyof One] extends [Other, keyof Other]
  ? [Other, keyof Other] extends [One, keyof One]
    ? true
    : false
  : false

type FailedFields<Failed extends { readonly _tag: "TurnFailed" }> = Pick<
  Failed,
  keyof Failed & ("_tag" | "code" | "content" | "message" | "retryable" | "runId" | "threadId")
>

export const records: {
  readonly Assistant: Same<Plain.Assistant, Core.Assistant>
  readonly Message: Same<Plain.Message, Core.Message>
  readonly NewAssistant: Same<Plain.NewAssistant, Adapters.NewAssistant>
  readonly Run: Same<Plain.Run, Core.Run>
  readonly Thread: Same<Plain.Thread, Core.Thread>
  readonly ThreadWithMessages: Same<Plain.ThreadWithMessages, Adapters.ThreadWithMessages>
  readonly ToolDefinition: Same<Plain.ToolDefinition, Core.ToolDefinition>
  readonly TurnEvent: Same<Plain.TurnEvent, Core.TurnEvent>
  readonly TurnReply: Same<Plain.TurnReply, Core.TurnReply>
  readonly FailedReply: Same<Plain.FailedReply, Promises.FailedReply>
  readonly GoodReply: Same<Plain.GoodReply, Promises.GoodReply>
  readonly SendRequest: Same<Plain.SendRequest, Promises.SendRequest>
  readonly OutputsRequest: Same<Plain.OutputsRequest, Promises.OutputsRequest>
  readonly ThreadBusy: Same<Plain.ThreadBusy["threadId"], Core.ThreadBusy["threadId"]>
  readonly TurnFailed: Same<FailedFields<Plain.TurnFailed>, FailedFields<Promises.TurnFailed>>
} = {
  Assistant: true,
  Message: true,
  NewAssistant: true,
  Run: true,
  Thread: true,
  ThreadWithMessages: true,
  ToolDefinition: true,
  TurnEvent: true,
  TurnReply: true,
  FailedReply: true,
  GoodReply: true,
  SendRequest: true,
  OutputsRequest: true,
  ThreadBusy: true,
  TurnFailed: true
}

const clock: Core.HostedTool = Promises.tool({
  name: "clock",
  description: "The time",
  parameters: Schema.Struct({ zone: Schema.String }),
  execute: ({ zone }) => zone
})

const part = Core.TurnParts.part({
  name: "quiet",
  plan: Schema.Null,
  decide: () => Effect.succeed({ plan: null })
})

/** Values of Effect in each place that takes them. */
export const withEffect = async () => {
  const colloquy = await Plain.Colloquy.open({
    store: InMemory.InMemory.layer,
    providers: [OpenAi.provider({})],
    model: "gpt-5",
    owner: "ada",
    tools: [clock],
    parts: [part],
    rooms: [documents(), memory()],
    layers: [Layer.empty]
  })
  const reply = await colloquy.send({ content: "Tea?", memory: "auto", output: Schema.Struct({ tea: Schema.String }) })
  const thread: Core.Thread = await colloquy.run(
    Core.Threads.use((threads) => Effect.map(threads.get(reply.threadId), ({ thread: found }) => found))
  )
  const kernel: Layer.Layer<Core.Kernel.Kernel> = Layer.succeedContext(colloquy.services)
  return { kernel, thread, tea: reply.status === "COMPLETED" ? reply.output.tea : null, memories: reply.memories }
}

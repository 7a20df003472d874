/**
 * Step 7 of a turn whose answer has to be one JSON value: how the model is asked for it, and whether what it wrote is taken. Used by
 * `ModelLoop`.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ChatMessage, ChatRequest } from "../models/ChatRequest.ts"
import { RunFault } from "../threads/Message.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { Leg } from "./Leg.ts"
import { lastAnswer, type RecordedLeg } from "./TurnRecorder.ts"
import type { WantedOutput } from "./WantedOutput.ts"

/** The answer is not the JSON value that was asked for, also after the model was told why. */
export class OutputUnusable extends Schema.TaggedError<OutputUnusable>()("OutputUnusable", { fault: RunFault }) {
  override get message() {
    return this.fault.message
  }
}

export class OutputLoop {
  /** Messages at the end of the next prompt: the answer that was not taken, and why. */
  asides: ReadonlyArray<ChatMessage> = []
  private readonly leg: Leg
  private readonly part: string
  private readonly wanted: WantedOutput
  private isNative: boolean | null = null

  constructor(leg: Leg, part: string, wanted: WantedOutput) {
    this.leg = leg
    this.part = part
    this.wanted = wanted
  }

  /** The request, with the form. A provider that does not hold the model to it leaves that to the instruction. */
  readonly asking = (request: ChatRequest): ChatRequest => {
    const { form, instruction } = this.wanted
    const asked = { ...request, output: form }
    this.isNative ??= this.changesWire(request, asked)
    if (this.isNative) return asked
    const system = request.system === null ? instruction : `${request.system}\n\n${instruction}`
    return { ...asked, system, jsonOutput: request.tools.length === 0 }
  }

  /** False: the model has to answer again, which it cannot if the answer is final. */
  readonly take = (
    recorded: RecordedLeg,
    findTurn: (part: string) => LiveTurn,
    isFinal = false
  ): Effect.Effect<boolean, OutputUnusable> =>
    Effect.suspend(() => {
      const text = lastAnswer(recorded)
      const isRepair = isFinal || this.asides.length > 0
      const verdict = this.wanted.check(text, { isNative: this.isNative === true, isRepair })
      if (verdict._tag === "Repair") {
        if (isRepair) return Effect.die(new Error(`The part "${this.part}" wants a second repair of one answer.`))
        this.asides = [
          { role: "assistant", content: text, toolCalls: [], providerData: null },
          { role: "user", content: [{ type: "text", text: verdict.words }] }
        ]
        this.leg.log.push((sequence) => ({ _tag: "AnswerWithdrawn", sequence }))
        return Effect.succeed(false)
      }
      findTurn(this.part).keep(verdict.keep)
      return verdict._tag === "Fits" ? Effect.succeed(true) : new OutputUnusable({ fault: verdict.fault })
    })

  /** Takes the text with which a review has replaced the answer. The model is not asked again. */
  readonly takeReplaced = (recorded: RecordedLeg, findTurn: (part: string) => LiveTurn) =>
    Effect.mapError(
      this.take(recorded, findTurn, true),
      ({ fault }) =>
        new OutputUnusable({
          fault: {
            ...fault,
            message: "A check of this server has replaced the answer by a text that does not fit the schema.",
            retryable: false
          }
        })
    )

  private changesWire(request: ChatRequest, asked: ChatRequest): boolean {
    const { wire } = this.leg.model
    return wire !== undefined && JSON.stringify(wire(request)) !== JSON.stringify(wire(asked))
  }
}

/** Null: any answer will do. */
export const outputLoop = (leg: Leg): OutputLoop | null => {
  const part = leg.parts.find((each) => each.has("output"))
  const wanted = part?.output() ?? null
  return part === undefined || wanted === null ? null : new OutputLoop(leg, part.name, wanted)
}

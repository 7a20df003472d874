/**
 * Listens to one model call whose answer is reviewed, in place of `StepRecorder`. Events wait here until the review has let them pass, in
 * their order; the next ones of the provider wait meanwhile. A call is told with its start when its arguments are reviewed, so nobody sees a
 * call that the review does not let pass. Reasoning is not shown, because nobody has reviewed it.
 */
import * as Effect from "effect/Effect"
import type { ChatEvent } from "../models/ChatEvent.ts"
import type { Listener } from "../models/ChatModel.ts"
import type { ProviderData } from "../models/ChatRequest.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import type { AnswerReview } from "./AnswerReview.ts"
import type { Leg } from "./Leg.ts"
import { StepRecorder, type StepResult } from "./StepRecorder.ts"

/** What a reviewed step is told of its model call. */
interface ReviewedCall {
  readonly provider: string
  /** Whether the model is asked to go on when its answer was interrupted. */
  readonly mayGoOn: boolean
  /** The usage of the call if it has written this and the provider reports none. */
  readonly estimate: (written: string) => Usage
}

export class ReviewedStep implements Listener {
  private readonly leg: Leg
  private readonly recorder: StepRecorder
  private readonly review: AnswerReview
  private readonly call: ReviewedCall
  private waiting: Array<ChatEvent> = []
  private hasCalled = false
  /** What the model has written, told or not. */
  private written = ""
  /** As the provider has reported it. */
  private usage: Usage | null = null
  private isInterrupted = false
  /** The provider's own data of an answer that it has interrupted. */
  private providerData: ProviderData | null = null

  constructor(leg: Leg, now: () => number, review: AnswerReview, call: ReviewedCall) {
    const { plan } = leg
    this.leg = leg
    this.call = call
    // What is heard counts for the budget, told or not, so it is counted here.
    const shown = { ...leg, budget: null, plan: { ...plan, thinking: { ...plan.thinking, excludeReasoning: true } } }
    this.recorder = new StepRecorder(shown, call.provider, now)
    this.review = review
    review.begin((text) => this.recorder.hear({ _tag: "TextDelta", text }))
  }

  readonly hear = (event: ChatEvent): void => {
    const { budget } = this.leg
    if (event._tag === "TextDelta" || event._tag === "ReasoningDelta") {
      budget?.hear(event.text)
      this.written += event.text
    } else if (event._tag === "ToolCallDelta") budget?.hear(event.arguments)
    else if (event._tag === "ToolCallReady") this.written += event.call.name + event.call.arguments
    else if (event._tag === "Usage") this.usage = event.usage
    this.waiting.push(event)
  }

  readonly pause = (): void => {}

  /** False when the review has ended the answer, or the budget. */
  readonly hold = (): Effect.Effect<boolean> =>
    Effect.flatMap(this.take, () =>
      this.review.ended === null ? (this.leg.budget?.hold() ?? Effect.succeed(true)) : Effect.succeed(false)
    )

  /** Reviews the remaining text when the provider has finished. */
  readonly rest: Effect.Effect<void> = Effect.suspend(() =>
    Effect.andThen(
      Effect.andThen(this.take, this.review.endPiece),
      Effect.sync(() => this.recorder.pause())
    )
  )

  refused(at: number): void {
    this.recorder.refused(at)
  }

  /** The call has failed, or the run was cancelled: what was written is paid for all the same. */
  fail(at: number): void {
    if (this.written !== "" || this.usage !== null) this.end(at)
  }

  end(at: number): StepResult {
    const { recorder, review } = this
    recorder.hear({ _tag: "Usage", usage: this.usage ?? this.call.estimate(this.written) })
    const step = recorder.end(at)
    const ended = this.leg.log.events.at(-1)
    if (this.isInterrupted && ended?._tag === "StepEnded") review.keep(ended, this.providerData)
    if (review.ended !== null) this.refuse(step.calls, at)
    return { ...step, spoke: step.spoke || review.held !== "" }
  }

  /** Calls that were told before the review ended the answer: neither the server nor the client runs them. */
  private refuse(calls: ReadonlyArray<ToolCall>, at: number): void {
    const { log } = this.leg
    for (const { id: toolCallId, name: toolName } of calls)
      log.push((sequence) => ({
        _tag: "HostedResult",
        sequence,
        toolCallId,
        toolName,
        output: "Error: not run, because the answer was ended after this call.",
        startedAt: at,
        at
      }))
    log.wake()
  }

  private readonly take = Effect.suspend(() => {
    const events = this.waiting
    this.waiting = []
    return Effect.andThen(
      Effect.forEach(events, (event) => this.takeOne(event), { discard: true }),
      Effect.sync(() => this.recorder.pause())
    )
  })

  private takeOne(event: ChatEvent): Effect.Effect<void> {
    const { recorder, review } = this
    const record = (passed: ChatEvent) => Effect.sync(() => recorder.hear(passed))
    if (review.ended !== null || event._tag === "Usage") return Effect.void
    switch (event._tag) {
      case "TextDelta":
        return review.add(event.text)
      case "ToolCallStart":
        return review.endPiece
      case "ToolCallReady": {
        this.hasCalled = true
        const { arguments: written, id, name } = event.call
        const call = Effect.map(review.reviewArguments(name, written), (passed) => {
          if (passed === null) return
          recorder.hear({ _tag: "ToolCallStart", id, name })
          recorder.hear({ ...event, call: { ...event.call, arguments: passed } })
        })
        return Effect.andThen(review.endPiece, this.unlessEnded(call))
      }
      case "Finished": {
        if (event.reason === "continue" && this.call.mayGoOn && !this.hasCalled) {
          review.interrupt()
          const { providerData: data } = event
          this.isInterrupted = true
          this.providerData = data === null ? null : { provider: this.call.provider, data }
          return record({ ...event, providerData: null })
        }
        // What the provider keeps of the answer holds what the review has changed. If the process dies before the leg is settled, the log in
        // the store may lack what was held back here: the stored answer is then without it.
        const finish = Effect.suspend(() => {
          for (const ended of review.takeKept()) this.leg.log.replace(ended)
          return record(review.hasChanged ? { ...event, providerData: null } : event)
        })
        return Effect.andThen(review.endPiece, this.unlessEnded(finish))
      }
      default:
        return record(event)
    }
  }

  private unlessEnded(effect: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.suspend(() => (this.review.ended === null ? effect : Effect.void))
  }
}

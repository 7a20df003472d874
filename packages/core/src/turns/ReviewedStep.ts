/**
 * Listens to one model call whose answer is reviewed, in place of `StepRecorder`. Events wait here until the review has let them pass, in
 * their order; the next ones of the provider wait meanwhile. Reasoning is not shown, because nobody has reviewed it.
 */
import * as Effect from "effect/Effect"
import type { ChatEvent } from "../models/ChatEvent.ts"
import type { Listener } from "../models/ChatModel.ts"
import type { AnswerReview } from "./AnswerReview.ts"
import type { Leg } from "./Leg.ts"
import { StepRecorder, type StepResult } from "./StepRecorder.ts"

export class ReviewedStep implements Listener {
  private readonly recorder: StepRecorder
  private readonly review: AnswerReview
  private readonly budget: Leg["budget"]
  /** Whether the model is asked to go on when its answer was interrupted. */
  private readonly mayGoOn: boolean
  private waiting: Array<ChatEvent> = []
  private hasCalled = false

  constructor(leg: Leg, provider: string, now: () => number, review: AnswerReview, mayGoOn: boolean) {
    const { plan } = leg
    this.mayGoOn = mayGoOn
    // What is heard counts for the budget, told or not, so it is counted here.
    const shown = { ...leg, budget: null, plan: { ...plan, thinking: { ...plan.thinking, excludeReasoning: true } } }
    this.recorder = new StepRecorder(shown, provider, now)
    this.review = review
    this.budget = leg.budget
    review.begin((text) => this.recorder.hear({ _tag: "TextDelta", text }))
  }

  readonly hear = (event: ChatEvent): void => {
    if (event._tag === "TextDelta" || event._tag === "ReasoningDelta") this.budget?.hear(event.text)
    else if (event._tag === "ToolCallDelta") this.budget?.hear(event.arguments)
    this.waiting.push(event)
  }

  readonly pause = (): void => {}

  /** False when the review has ended the answer, or the budget. */
  readonly hold = (): Effect.Effect<boolean> =>
    Effect.flatMap(this.take, () =>
      this.review.ended === null ? (this.budget?.hold() ?? Effect.succeed(true)) : Effect.succeed(false)
    )

  /** What is left when the provider has finished. */
  readonly rest: Effect.Effect<void> = Effect.suspend(() =>
    Effect.andThen(
      Effect.andThen(
        this.take,
        Effect.suspend(() => (this.review.ended === null ? this.review.endPiece : Effect.void))
      ),
      Effect.sync(() => this.recorder.pause())
    )
  )

  refused(at: number): void {
    this.recorder.refused(at)
  }

  end(at: number): StepResult {
    const step = this.recorder.end(at)
    return { ...step, spoke: step.spoke || this.review.holds }
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
    if (event._tag === "Usage") return record(event)
    if (review.ended !== null) return Effect.void
    switch (event._tag) {
      case "TextDelta":
        return review.add(event.text)
      case "ToolCallStart":
        return Effect.andThen(review.endPiece, this.unlessEnded(record(event)))
      case "ToolCallReady": {
        this.hasCalled = true
        const { arguments: written, name } = event.call
        const call = Effect.flatMap(review.reviewArguments(name, written), (passed) =>
          passed === null ? Effect.void : record({ ...event, call: { ...event.call, arguments: passed } })
        )
        return Effect.andThen(review.endPiece, this.unlessEnded(call))
      }
      case "Finished": {
        // The provider's own record of the answer holds what the review has changed.
        const finish = Effect.suspend(() => record(review.hasChanged ? { ...event, providerData: null } : event))
        if (event.reason === "continue" && this.mayGoOn && !this.hasCalled) {
          review.interrupt()
          return finish
        }
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

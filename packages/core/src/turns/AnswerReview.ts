/**
 * The review of a leg's answer. Text goes through the reviewing parts in the order of their names; each gets it in pieces that do not depend
 * on how the provider has split it, and only what the last one lets pass is told. What is held back when the model fails is never told.
 */
import * as Effect from "effect/Effect"
import { Principal } from "../access/Principal.ts"
import type { ProviderData } from "../models/ChatRequest.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { Leg } from "./Leg.ts"
import { withoutEscapes } from "./JsonEscapes.ts"
import { missingGuard } from "./Rewriting.ts"
import { type BoundReview, ReviewFailed, ReviewStopped } from "./ReviewVerdict.ts"
import type { Review, Verdict } from "./Review.ts"
import type { StepEnded, TurnEvent } from "./TurnEvent.ts"

/** How a review has ended the answer. */
export type ReviewEnd = ReviewStopped | ReviewFailed | { readonly _tag: "Replaced" }

/** The place of one part in the row. */
class Reviewer {
  readonly judge: BoundReview["judge"]
  private readonly by: Review["by"]
  /** What it has let pass. */
  passed = ""
  /** What is no complete piece yet. */
  held = ""
  /** The last character ends a sentence, if a space follows. */
  private mayEnd = false

  constructor({ by, judge }: BoundReview) {
    this.by = by
    this.judge = judge
  }

  /** Adds a text, and takes the pieces that are complete. Only the new text is searched. */
  pieces(text: string): ReadonlyArray<string> {
    const pieces: Array<string> = []
    let start = 0
    for (let index = 0; this.by === "sentence" && index < text.length; index++) {
      const character = text.charAt(index)
      if (character === "\n" || fullStops.includes(character) || (this.mayEnd && isSpace(character))) {
        pieces.push(this.held + text.slice(start, index + 1))
        this.held = ""
        this.mayEnd = false
        start = index + 1
      } else {
        this.mayEnd = endsSentence(character) || (this.mayEnd && closers.includes(character))
      }
    }
    this.held += text.slice(start)
    return pieces
  }

  /** Takes what is left, complete or not. */
  rest(): string {
    const rest = this.held
    this.held = ""
    this.mayEnd = false
    return rest
  }
}

const endsSentence = (character: string): boolean =>
  ".!?…".includes(character) || (character > "\u007f" && /\p{Sentence_Terminal}/u.test(character))
const closers = "\"'”’»)]}*_"
/** They end a sentence also where no space follows. */
const fullStops = "。！？"
const isSpace = (character: string): boolean => character === " " || character === "\t" || character === "\r"

export class AnswerReview {
  ended: ReviewEnd | null = null
  /** Whether anything of the answer was changed or withheld, in its model call or in the interrupted ones before it. */
  hasChanged = false
  private readonly reviewers: ReadonlyArray<Reviewer>
  private readonly principal: typeof Principal.Service
  /** The answer is to be JSON. */
  private readonly isJson: boolean
  private tell: (text: string) => void = () => {}
  /** The model was interrupted: the next answer goes on in the middle of a piece. */
  private isInterrupted = false
  /**
   * The ends of the interrupted model calls of one answer, with what the provider keeps of them, by their sequences. Some of it may not be
   * reviewed yet, so it is neither logged nor stored: only the next model call reads it.
   */
  private readonly kept = new Map<number, StepEnded>()

  constructor(reviews: ReadonlyArray<BoundReview>, principal: typeof Principal.Service, isJson = false) {
    this.reviewers = reviews.map((review) => new Reviewer(review))
    this.principal = principal
    this.isJson = isJson
  }

  /** Begins a model's answer. What a failed one has left is dropped, and what an interrupted one has left goes on. */
  begin(tell: (text: string) => void): void {
    if (!this.isInterrupted) {
      for (const reviewer of this.reviewers) reviewer.rest()
      this.kept.clear()
      this.hasChanged = false
    }
    this.isInterrupted = false
    this.tell = tell
  }

  /** The next text of the answer. */
  readonly add = (text: string): Effect.Effect<void> => this.passOn(0, text, false)

  /** The model's answer goes on in its next call: what is held back waits for it. */
  interrupt(): void {
    this.isInterrupted = true
  }

  /** Keeps what the provider wants back of an interrupted model call. Once anything was changed, the next call gets the reviewed text alone. */
  keep(ended: StepEnded, providerData: ProviderData | null): void {
    if (this.hasChanged) this.kept.clear()
    else if (providerData !== null) this.kept.set(ended.sequence, { ...ended, providerData })
  }

  /** The log as the next model call reads it: an interrupted model goes on behind all that it has written. */
  withKept(events: ReadonlyArray<TurnEvent>): ReadonlyArray<TurnEvent> {
    const shown = this.kept.size === 0 ? events : events.map((event) => this.kept.get(event.sequence) ?? event)
    const { held } = this
    return held === "" ? shown : [...shown, { _tag: "TextDelta", sequence: 0, text: held }]
  }

  /** The answer is complete. Returns the ends that the log may have now: all of them, or none if the review has changed a word. */
  takeKept(): ReadonlyArray<StepEnded> {
    const kept = this.hasChanged ? [] : [...this.kept.values()]
    this.kept.clear()
    return kept
  }

  /** The text that waits to be reviewed. What the last part holds was written first. */
  get held(): string {
    return this.reviewers.reduce((text, { held }) => held + text, "")
  }

  /** The end of what belongs together: the end of the answer, or a call. An interruption is none. */
  readonly endPiece: Effect.Effect<void> = Effect.suspend(() =>
    this.ended === null && !this.isInterrupted ? this.passOn(0, "", true) : Effect.void
  )

  /** Reviews an answer that came at once. Returns what is told of it. */
  whole(text: string): Effect.Effect<string> {
    let told = ""
    this.begin((piece) => {
      told += piece
    })
    return Effect.map(Effect.andThen(this.add(text), this.endPiece), () => told)
  }

  /** Whether the answer goes on; fails if a part has stopped it, or could not review it. */
  readonly goesOn: Effect.Effect<boolean, ReviewStopped | ReviewFailed> = Effect.suspend(() => {
    const { ended } = this
    if (ended === null) return Effect.succeed(true)
    return ended._tag === "Replaced" ? Effect.succeed(false) : Effect.fail(ended)
  })

  /** The arguments of a call; null if the answer has ended with them. */
  reviewArguments(tool: string, written: string): Effect.Effect<string | null> {
    return Effect.gen({ self: this }, function* () {
      let text = withoutEscapes(written)
      for (const [index, reviewer] of this.reviewers.entries()) {
        const passed = yield* this.follow(index, yield* this.judge(reviewer, text, tool), text)
        if (passed === null) return null
        text = passed
      }
      return text
    })
  }

  /** Gives a text to a reviewer, and what the reviewer lets pass to the next one; after the last one it is told. */
  private passOn(index: number, text: string, isEnd: boolean): Effect.Effect<void> {
    const reviewer = this.reviewers[index]
    if (reviewer === undefined) return Effect.sync(() => text !== "" && this.tell(text))
    return Effect.gen({ self: this }, function* () {
      const pieces = [...reviewer.pieces(text), ...(isEnd ? [reviewer.rest()] : [])]
      for (const written of pieces) {
        if (written === "") continue
        if (this.ended !== null) return
        const piece = this.isJson ? withoutEscapes(written) : written
        const passed = yield* this.follow(index, yield* this.judge(reviewer, piece, null), piece)
        if (passed === null) return
        reviewer.passed += passed
        yield* this.passOn(index + 1, passed, false)
      }
      if (isEnd && this.ended === null) yield* this.passOn(index + 1, "", true)
    })
  }

  private judge(reviewer: Reviewer, text: string, tool: string | null): Effect.Effect<Verdict | ReviewFailed> {
    return Effect.provideService(reviewer.judge({ text, before: reviewer.passed, tool }), Principal, this.principal)
  }

  /** Returns what is told in place of the piece; null if the answer has ended. */
  private follow(index: number, verdict: Verdict | ReviewFailed, piece: string): Effect.Effect<string | null> {
    switch (verdict._tag) {
      case "Pass":
        return Effect.succeed(piece)
      case "Change":
        this.hasChanged ||= verdict.text !== piece
        return Effect.succeed(verdict.text)
      case "Stop":
        return this.end(index, "", new ReviewStopped({ reason: verdict.reason }))
      case "Replace":
        return this.end(index, verdict.text, { _tag: "Replaced" })
      case "ReviewFailed":
        return this.end(index, null, verdict)
    }
  }

  /** The later reviewers still see what was passed on, and the text that ends the answer; null: nothing more is told. */
  private end(index: number, last: string | null, end: ReviewEnd): Effect.Effect<null> {
    this.hasChanged = true
    const rest = last === null ? Effect.void : this.passOn(index + 1, last, true)
    return Effect.map(rest, () => {
      this.ended ??= end
      return null
    })
  }
}

/** Null if no part of the leg reviews. Fails if a part is missing that has to check this run. */
export const makeReview = (
  { parts, plan }: Leg,
  findTurn: (part: string) => LiveTurn
): Effect.Effect<AnswerReview | null, ReviewFailed, Principal> => {
  const missing = missingGuard(plan.guards, parts)
  if (missing !== undefined) {
    const said = `The part "${missing}" rewrites or reviews this run, and it is missing or cannot read its plan`
    return Effect.andThen(Effect.logError(said), new ReviewFailed({ isLate: false }))
  }
  const reviewing = parts.filter((part) => part.has("review"))
  if (reviewing.length === 0) return noReview
  return Effect.map(
    Principal,
    (principal) =>
      new AnswerReview(
        reviewing.map((part) => part.review(findTurn(part.name))),
        principal,
        plan.jsonOutput || parts.some((part) => part.has("output"))
      )
  )
}

const noReview = Effect.succeed(null)

/**
 * Step 5 of a turn: the prompt parts that its parts recall for this content, in parallel, each with a time limit. Parts recall once in a
 * run. Later legs read the result from the answers of earlier legs, so their prompts begin with the same bytes.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { ChatMessage, ContentPart } from "../models/ChatRequest.ts"
import { Deadlines } from "../primitives/Deadlines.ts"
import type { Explanation } from "../prompts/Explanation.ts"
import type { Rendered, RenderedMessage } from "../prompts/PromptMessages.ts"
import { PromptPart } from "../prompts/PromptPart.ts"
import type { History, Message } from "../threads/Message.ts"
import { supplementOf } from "../threads/Supplement.ts"
import type { Leg } from "./Leg.ts"
import { LiveTurns } from "./LiveTurns.ts"
import type { PlannedPart, Surroundings } from "./TurnPart.ts"
import { TurnParts } from "./TurnParts.ts"
import { TurnSettings } from "./TurnSettings.ts"

export interface Recalled {
  readonly prompt: ReadonlyArray<PromptPart>
  /** What the model reads of the users' messages besides their text. */
  readonly rendered: Rendered
  /** What could not be recalled, for the explanation. */
  readonly notes: Explanation["leftOut"]
}

interface Found {
  readonly part: string
  readonly prompt: ReadonlyArray<PromptPart>
  readonly note: string | null
}

const noSurroundings: Surroundings = { before: [], after: [] }

/** If a part cannot read a message, only that part's content of the message is left out, in this turn and in later ones. */
const orFallback = <A>(
  part: string,
  message: Message,
  read: () => Effect.Effect<A, never, Principal>,
  fallback: A
): Effect.Effect<A, never, Principal> =>
  Effect.catchCause(Effect.suspend(read), (cause) =>
    Effect.as(Effect.logError(`The part "${part}" could not read message ${message.id}`, cause), fallback)
  )

export class Recall extends Context.Service<
  Recall,
  { readonly recall: (leg: Leg, history: History) => Effect.Effect<Recalled, never, Principal> }
>()("@colloquy/core/turns/Recall") {
  static readonly layer: Layer.Layer<Recall, never, TurnParts | LiveTurns | Deadlines> = Layer.effect(
    Recall,
    Effect.gen(function* () {
      const parts = yield* TurnParts
      const liveTurns = yield* LiveTurns
      const deadlines = yield* Deadlines
      const { mediaBytes, recallTimeout } = yield* TurnSettings

      /** Recalls one part. A part that fails or is late is left out, with a note. */
      const recallBy = (part: PlannedPart, leg: Leg, history: History): Effect.Effect<Found, never, Principal> => {
        const found = (prompt: ReadonlyArray<PromptPart>): Found => ({ part: part.name, prompt, note: null })
        const nothing = (note: string): Found => ({ part: part.name, prompt: [], note })
        const recalled = Effect.suspend(
          () => part.recall?.(liveTurns.of(leg, part.name, history), history) ?? Effect.succeed([])
        )
        return deadlines
          .within(recallTimeout, Effect.map(Effect.flatMap(recalled, checkPrompt), found), () =>
            Effect.succeed(nothing("it was not found in time"))
          )
          .pipe(
            Effect.catchCause((cause) =>
              Effect.as(
                Effect.logWarning(`The part "${part.name}" could not recall for run ${leg.lease.runId}`, cause),
                nothing("the search for it failed")
              )
            )
          )
      }

      /** Renders the newest messages first: if there are more media than a prompt may hold, the oldest media are left out. */
      const renderMessages = Effect.fnUntraced(function* (leg: Leg, history: History) {
        const rendered = new Map<Message["id"], RenderedMessage>()
        let room = mediaBytes
        for (const message of history.messages.toReversed()) {
          if (message.role !== "user" || message.supplements === null) continue
          const content: Array<ContentPart> = []
          const before: Array<ChatMessage> = []
          const after: Array<ChatMessage> = []
          for (const { name, render, surround } of parts.all()) {
            const supplement = supplementOf(message, name)
            if (supplement === null) continue
            const reading = { info: leg.model.info, room }
            if (render !== undefined) {
              const more = yield* orFallback(name, message, () => render(supplement.value, message, reading), [])
              room = Math.max(0, room - sizeOf(more))
              content.push(...more)
            }
            if (surround !== undefined) {
              const around = yield* orFallback(
                name,
                message,
                () => surround(supplement.value, message, { ...reading, room }),
                noSurroundings
              )
              room = Math.max(0, room - sizeOfMessages(around.before) - sizeOfMessages(around.after))
              before.push(...around.before)
              after.push(...around.after)
            }
          }
          if (content.length + before.length + after.length > 0) rendered.set(message.id, { content, before, after })
        }
        return (message: Message) => rendered.get(message.id)
      })

      const recallParts = Effect.fnUntraced(function* (leg: Leg, history: History) {
        const rendered = yield* renderMessages(leg, history)
        if (leg.number > 0) return { prompt: recalledBefore(leg, history), rendered, notes: [] }
        const asked = leg.parts.filter((part) => part.recall !== undefined)
        if (asked.length === 0) return { prompt: [], rendered, notes: [] }
        const found = yield* Effect.forEach(asked, (part) => recallBy(part, leg, history), { concurrency: "unbounded" })
        for (const { part, prompt } of found) {
          if (prompt.length > 0) leg.log.push((sequence) => ({ _tag: "PartRecalled", sequence, part, prompt }))
        }
        leg.log.wake()
        return {
          prompt: found.flatMap(({ prompt }) => prompt),
          rendered,
          notes: found.flatMap(({ note, part }) =>
            note === null ? [] : [{ part, messages: 0, tokens: 0, because: note }]
          )
        }
      })

      const haveReaders = () =>
        parts.all().some(({ render, surround }) => render !== undefined || surround !== undefined)

      return Recall.of({
        recall: (leg, history) =>
          leg.parts.length === 0 && !haveReaders() ? Effect.succeed(nothing) : recallParts(leg, history)
      })
    })
  )
}

const nothing: Recalled = { prompt: [], rendered: () => undefined, notes: [] }

const recalledBefore = (leg: Leg, history: History): ReadonlyArray<PromptPart> => {
  const answers = history.messages.filter(
    (message) => message.runId === leg.lease.runId && message.role === "assistant"
  )
  return leg.parts.flatMap(({ name }) =>
    answers.flatMap((answer) => Option.getOrElse(decodePrompt(supplementOf(answer, name)?.prompt), () => []))
  )
}

const decodePrompt = Schema.decodeUnknownOption(Schema.Array(PromptPart))
const checkPrompt = Schema.decodeEffect(Schema.Array(PromptPart))

const sizeOf = (parts: ReadonlyArray<ContentPart>): number =>
  parts.reduce((sum, part) => sum + (part.type !== "text" && "bytes" in part.source ? part.source.bytes.length : 0), 0)

const sizeOfMessages = (messages: ReadonlyArray<ChatMessage>): number =>
  messages.reduce((sum, message) => sum + (message.role === "user" ? sizeOf(message.content) : 0), 0)

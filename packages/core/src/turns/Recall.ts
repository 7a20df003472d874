/**
 * Step 5 of a turn: the prompt parts that its parts recall for this content, in parallel, each with a time limit. Parts recall once in a
 * run. Later legs read the result from the answers of earlier legs, so their prompts begin with the same bytes.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { ChatMessage, ContentPart } from "../models/ChatRequest.ts"
import type { Explanation } from "../prompts/Explanation.ts"
import type { Rendered, RenderedMessage } from "../prompts/PromptMessages.ts"
import { PromptPart } from "../prompts/PromptPart.ts"
import type { History, Message } from "../threads/Message.ts"
import { readSupplement } from "../threads/Supplement.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { Leg } from "./Leg.ts"
import { LiveTurns } from "./LiveTurns.ts"
import { notChecked, type Recollection } from "./RegisteredPart.ts"
import { TurnParts } from "./TurnParts.ts"
import { TurnSettings } from "./TurnSettings.ts"

export interface Recalled {
  readonly prompt: ReadonlyArray<PromptPart>
  /** What the model reads of the users' messages besides their text. */
  readonly rendered: Rendered
  /** Notes on texts that could not be recalled, for the explanation. */
  readonly notes: Explanation["leftOut"]
}

export class Recall extends Context.Service<
  Recall,
  { readonly recall: (leg: Leg, history: History) => Effect.Effect<Recalled, never, Principal> }
>()("@colloquy/core/turns/Recall") {
  static readonly layer: Layer.Layer<Recall, never, TurnParts | LiveTurns> = Layer.effect(
    Recall,
    Effect.gen(function* () {
      const parts = yield* TurnParts
      const liveTurns = yield* LiveTurns
      const { mediaBytes } = yield* TurnSettings

      /** Renders the newest messages first: if there are more media than a prompt may hold, the oldest media are left out. */
      const renderMessages = Effect.fnUntraced(function* (leg: Leg, history: History) {
        const rendered = new Map<Message["id"], RenderedMessage>()
        const readers = parts.all().filter((part) => part.has("render"))
        let room = mediaBytes
        for (const message of history.messages.toReversed()) {
          if (message.role !== "user" || message.supplements === null) continue
          const content: Array<ContentPart> = []
          const before: Array<ChatMessage> = []
          const after: Array<ChatMessage> = []
          for (const reader of readers) {
            const more = yield* reader.render(message, { info: leg.model.info, room })
            room = Math.max(
              0,
              room - contentSize(more.content) - sizeOfMessages(more.before) - sizeOfMessages(more.after)
            )
            content.push(...more.content)
            before.push(...more.before)
            after.push(...more.after)
          }
          if (content.length + before.length + after.length > 0) rendered.set(message.id, { content, before, after })
        }
        return (message: Message) => rendered.get(message.id)
      })

      const recallParts = Effect.fnUntraced(function* (leg: Leg, history: History) {
        const rendered = yield* renderMessages(leg, history)
        if (leg.number > 0) {
          keepAgain(leg, history)
          return { prompt: recalledBefore(leg, history), rendered, notes: [] }
        }
        const asked = leg.parts.filter((part) => part.has("recall"))
        if (asked.length === 0) return { prompt: [], rendered, notes: [] }
        const found = yield* Effect.forEach(
          asked,
          (part) => {
            const turn = liveTurns.of(leg, part.name, history)
            return rewritten(turn, part.recall(turn, history))
          },
          { concurrency: "unbounded" }
        )
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

      /** What a part kept with an earlier answer of the run belongs to this one, too: its prompt has the same texts. */
      const keepAgain = (leg: Leg, history: History) => {
        const answers = answersInRun(leg, history)
        for (const { has, name } of leg.parts) {
          if (!has("recall")) continue
          const kept = answers
            .map((answer) => readSupplement(answer, name)?.value ?? null)
            .findLast(Predicate.isNotNull)
          if (kept !== undefined) liveTurns.of(leg, name, history).keep(kept)
        }
      }

      const haveReaders = () => parts.all().some((part) => part.has("render"))

      return Recall.of({
        recall: (leg, history) =>
          leg.parts.length === 0 && !haveReaders() ? Effect.succeed(nothing) : recallParts(leg, history)
      })
    })
  )
}

/** Rewrites what the part has not rewritten itself. What could not be rewritten is left out, with a note. */
const rewritten = (
  { rewriting }: LiveTurn,
  recalled: Effect.Effect<Recollection, never, Principal>
): Effect.Effect<Recollection, never, Principal> =>
  rewriting === null
    ? recalled
    : Effect.flatMap(recalled, (found) =>
        Effect.forEach(found.prompt, (part) =>
          Effect.map(
            Effect.forEach(part.items, (item) =>
              Effect.map(rewriting.rewrite(item.text), (text) => ({ ...item, text }))
            ),
            (items) => ({ ...part, items })
          )
        ).pipe(
          Effect.map((prompt) => ({ ...found, prompt })),
          Effect.catchTag("TextWithheld", () => Effect.succeed({ ...found, prompt: [], note: notChecked }))
        )
      )

const nothing: Recalled = { prompt: [], rendered: () => undefined, notes: [] }

const answersInRun = ({ lease }: Leg, { messages }: History): ReadonlyArray<Message> =>
  messages.filter(({ role, runId }) => runId === lease.runId && role === "assistant")

const recalledBefore = (leg: Leg, history: History): ReadonlyArray<PromptPart> => {
  const answers = answersInRun(leg, history)
  return leg.parts.flatMap(({ name }) =>
    answers.flatMap((answer) => Option.getOrElse(decodePrompt(readSupplement(answer, name)?.prompt), () => []))
  )
}

const decodePrompt = Schema.decodeUnknownOption(Schema.Array(PromptPart))

const contentSize = (parts: ReadonlyArray<ContentPart>): number =>
  parts.reduce((sum, part) => sum + (part.type !== "text" && "bytes" in part.source ? part.source.bytes.length : 0), 0)

const sizeOfMessages = (messages: ReadonlyArray<ChatMessage>): number =>
  messages.reduce((sum, message) => sum + (message.role === "user" ? contentSize(message.content) : 0), 0)

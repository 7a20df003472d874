/**
 * How a conversation that the client brought joins a turn: it is kept with the user's message and stands around it in every prompt of the
 * thread. A turn of a stateless request also leaves a follow-up with its settlement: its thread is removed then, in whatever process, so that
 * nothing of it stays but its entries in the ledger.
 */
import {
  AssistantId,
  Assistants,
  FollowUpFailed,
  FollowUps,
  type Principal,
  readSupplement,
  ThreadId,
  Threads,
  TokenCounter,
  type TurnPart,
  TurnParts,
  TurnRefused
} from "@colloquy/core"
import {
  type ChatMessage,
  type ContentPart,
  type TokenCounterPort,
  type Rewrite,
  typedWorker
} from "@colloquy/core/adapters"
import type { Message } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { joined } from "../bodies/Text.ts"
import { HeldMedia } from "./HeldMedia.ts"
import { Item, MediaPart } from "./Transcript.ts"

export const transcriptPart = "transcript"

/** The supplement of the user's message. */
export const Transcript = Schema.Struct({
  before: Schema.Array(Item),
  after: Schema.Array(Item),
  /** Media of the message itself that are not kept as documents. */
  media: Schema.Array(MediaPart),
  /** The developer's text of this message. It holds for the rest of the conversation. */
  developer: Schema.Array(Schema.String),
  /** The fields of its request that an answer shows. */
  asked: Schema.NullOr(Schema.JsonObject)
})
export type Transcript = typeof Transcript.Type

/** The thread and the assistant that are removed when the turn has ended. */
const Temporary = Schema.Literals(["thread", "assistant"])

const Options = Schema.Struct({ transcript: Transcript, temporary: Schema.NullOr(Temporary) })
export type TranscriptOptions = typeof Options.Type

const Plan = Schema.Struct({ temporary: Schema.NullOr(Temporary) })

const readOptions = Schema.decodeUnknownOption(Options)
const readTranscript = Schema.decodeUnknownOption(Transcript)
const isJson = Schema.is(Schema.Json)

/** The options of this part in `TurnRequest.options`. */
export const transcriptOptions = (options: TranscriptOptions): Schema.JsonObject => ({
  [transcriptPart]: optionsJson(options)
})

const optionsJson = (options: TranscriptOptions): Schema.Json => (isJson(options) ? options : null)

/** The supplement of a message. Null: the client brought no conversation. */
export const keptTranscript = (message: Pick<Message, "supplements">): Transcript | null =>
  Option.getOrNull(readTranscript(readSupplement(message, transcriptPart)?.value))

const removalKind = "remove_temporary_thread"
const Removal = Schema.Struct({ threadId: ThreadId, assistantId: Schema.NullOr(AssistantId) })

/** The tokens that vendors count for a picture of usual size. */
const mediaTokens = 1000
const tokensPerMessage = 4

const countTranscript = ({ after, before, media }: Transcript, { count }: TokenCounterPort): number => {
  const ofItem = (item: Item): number => {
    if (item.role === "tool") return count(item.output)
    if (item.role === "assistant")
      return count(item.content) + item.toolCalls.reduce((sum, call) => sum + count(call.name + call.arguments), 0)
    return item.content.reduce((sum, part) => sum + (part.type === "text" ? count(part.text) : mediaTokens), 0)
  }
  return [...before, ...after].reduce((sum, item) => sum + ofItem(item) + tokensPerMessage, media.length * mediaTokens)
}

/** Of a short text: long ones are lifted out of their body. */
export const decodeBase64 = (base64: string): Uint8Array =>
  Uint8Array.from(globalThis.atob(base64), (character) => character.charCodeAt(0))

type Held = typeof HeldMedia.Service

const contentPart = (part: typeof MediaPart.Type, room: { left: number }, held: Held): ContentPart => {
  if (part.url !== undefined)
    return { type: part.type, mediaType: part.mediaType, filename: null, source: { url: part.url } }
  const lifted = part.held === undefined ? undefined : held.get(part.held)
  const size = lifted?.size ?? ((part.base64?.length ?? 0) * 3) / 4
  if (size > room.left || (part.held !== undefined && lifted === undefined))
    return { type: "text", text: `[A file (${part.mediaType}) was sent here and is not shown. There is no more room.]` }
  const bytes = lifted === undefined ? decodeBase64(part.base64 ?? "") : joined(lifted.pieces ?? [])
  room.left -= bytes.length
  return { type: part.type, mediaType: part.mediaType, filename: null, source: { bytes } }
}

const chatMessages = (items: ReadonlyArray<Item>, room: { left: number }, held: Held): ReadonlyArray<ChatMessage> =>
  items.map((item) => {
    if (item.role === "assistant") return { ...item, providerData: null }
    if (item.role === "tool") return item
    const content = item.content.map((part) => (part.type === "text" ? part : contentPart(part, room, held)))
    return { role: "user", content: content.length === 0 ? [{ type: "text", text: "" }] : content }
  })

const hasPictures = ({ after, before, media }: Transcript): boolean =>
  media.some(({ type }) => type === "image") ||
  [...before, ...after].some((item) => item.role === "user" && item.content.some(({ type }) => type === "image"))

const noPictures = new TurnRefused({
  part: transcriptPart,
  reason: "invalid",
  problems: [{ path: [], message: "This model does not take pictures. Choose one that does, or leave them out." }]
})

const rewrittenItem = Effect.fnUntraced(function* (
  item: Item,
  rewrite: Rewrite
): Effect.fn.Return<Item, Effect.Error<ReturnType<Rewrite>>, Principal> {
  if (item.role === "tool") return { ...item, output: yield* rewrite(item.output, "tool_output") }
  if (item.role === "assistant") {
    const toolCalls = yield* Effect.forEach(item.toolCalls, (call) =>
      Effect.map(rewrite(call.arguments, "tool_output"), (text) => ({ ...call, arguments: text }))
    )
    return { ...item, content: yield* rewrite(item.content), toolCalls }
  }
  const content: Array<(typeof item.content)[number]> = []
  for (const part of item.content) {
    content.push(part.type === "text" ? { ...part, text: yield* rewrite(part.text) } : part)
  }
  return { ...item, content }
})

/** The texts of a conversation that the client sent are rewritten as the message itself is, outputs and arguments of calls as outputs of tools. */
const rewritten = (transcript: Transcript, rewrite: Rewrite) => {
  const items = (list: ReadonlyArray<Item>) => Effect.forEach(list, (item) => rewrittenItem(item, rewrite))
  return Effect.map(Effect.all([items(transcript.before), items(transcript.after)]), ([before, after]) => ({
    ...transcript,
    before,
    after
  }))
}

const makePart = (counter: TokenCounterPort, held: Held): TurnPart<typeof Plan.Type> => ({
  name: transcriptPart,
  plan: Plan,
  concerns: ({ options }) => options !== undefined,
  rewriteOptions: (options, rewrite) =>
    Option.match(readOptions(options), {
      onNone: () => Effect.succeed(options),
      onSome: ({ temporary, transcript }) =>
        Effect.map(rewritten(transcript, rewrite), (texts) => optionsJson({ temporary, transcript: texts }))
    }),
  decide: Effect.fnUntraced(function* ({ info, options }) {
    const given = Option.getOrNull(readOptions(options))
    if (given === null) return null
    const { temporary, transcript } = given
    if (info?.supportsVision === false && hasPictures(transcript)) return yield* noPictures
    return {
      plan: { temporary },
      supplement: isJson(transcript) ? transcript : null,
      tokens: countTranscript(transcript, counter),
      allowsEmptyContent: transcript.media.length > 0 || transcript.after.length > 0
    }
  }),
  render: (supplement, _, { room }) =>
    Effect.sync(() => {
      const left = { left: room }
      const transcript = Option.getOrNull(readTranscript(supplement))
      if (transcript === null) return {}
      const content = transcript.media.map((part) => contentPart(part, left, held))
      return {
        content,
        after: chatMessages(transcript.after, left, held),
        before: chatMessages(transcript.before, left, held)
      }
    }),
  followUps: ({ temporary }, { assistantId, threadId }) =>
    temporary === null
      ? []
      : [
          {
            kind: removalKind,
            key: threadId,
            payload: { threadId, assistantId: temporary === "assistant" ? assistantId : null }
          }
        ]
})

const removalWorker = Effect.gen(function* () {
  const threads = yield* Threads
  const assistants = yield* Assistants
  return typedWorker({
    // No record waits: the follow-up is stored in one transaction with the answer.
    kind: removalKind,
    payload: Removal,
    run: ({ assistantId, threadId }) =>
      assistantId === null
        ? threads.remove(threadId).pipe(
            Effect.catchTag("ThreadNotFound", () => Effect.void),
            Effect.catchTag("ThreadInSession", ({ message }) =>
              Effect.fail(new FollowUpFailed({ message, isRetryable: true }))
            )
          )
        : Effect.catchTag(assistants.remove(assistantId), "AssistantNotFound", () => Effect.void)
  })
})

export const layer: Layer.Layer<never, never, TurnParts | FollowUps | Threads | Assistants | HeldMedia> =
  Layer.effectDiscard(
    Effect.gen(function* () {
      const parts = yield* TurnParts
      const followUps = yield* FollowUps
      yield* followUps.register(yield* removalWorker)
      yield* parts.register(makePart(yield* TokenCounter, yield* HeldMedia))
    })
  )

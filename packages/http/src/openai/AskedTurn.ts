/** The turn that both interfaces begin: for a conversation that the client has sent, on a thread that is kept or on a temporary one. */
import {
  type AssistantId,
  type Principal,
  type StartedTurn,
  type ThreadId,
  type TurnRequest,
  Turns
} from "@colloquy/core"
import type { BusyPolicy, Metadata, ModelOptions, Thinking } from "@colloquy/core/adapters"
import { Documents, makeStartWithFiles, type ReceivedFile } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { compact } from "../wire/Fields.ts"
import { inlineName } from "../bodies/InlineFile.ts"
import { isLongerThan, textOverLimit } from "../bodies/Text.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { fromKernel, invalid, OpenAiError } from "./Errors.ts"
import { HeldMedia } from "./HeldMedia.ts"
import { makeMadeAssistants } from "./MadeAssistants.ts"
import { type AnswerFormat, formatInstruction } from "./Options.ts"
import type { Media } from "./Request.ts"
import type { AskedTools } from "./Tools.ts"
import { type Item, mediaInItem, type MediaPart, type Split, split, textInItem, type UserItem } from "./Transcript.ts"
import { decodeBase64, transcriptOptions, type Transcript } from "./TranscriptPart.ts"

export interface AskedTurn {
  /** Absent: a new thread, of this assistant or of one of its own. */
  readonly threadId?: ThreadId
  readonly assistantId?: AssistantId
  readonly provider?: string
  readonly model?: string
  /** True: nothing of the turn is kept. */
  readonly isTemporary: boolean
  /** The assistant's own instructions. */
  readonly system: string | null
  /** Instructions for this turn alone. */
  readonly instructions: ReadonlyArray<string>
  /** The developer's messages: the earlier ones of this thread, and those of this request. */
  readonly developerBefore: ReadonlyArray<string>
  readonly developer: ReadonlyArray<string>
  readonly items: ReadonlyArray<Item>
  /** The media of the items, by their marks. */
  readonly media: Media
  /** Absent: the tools of the assistant. */
  readonly tools?: AskedTools
  readonly thinking?: Thinking
  readonly modelOptions?: ModelOptions
  /** The options of a host's parts, from the fields of its wings. */
  readonly wingOptions?: Schema.JsonObject
  readonly format: AnswerFormat
  readonly stream: boolean
  /** True: the client does not wait, also when the thread is busy. */
  readonly background?: boolean
  readonly metadata?: Metadata
  readonly busy?: BusyPolicy
  /** True: the messages are saved, and no model is called. */
  readonly isOnlySaved?: boolean
  /** The fields of the request that the record of the answer shows. */
  readonly asked: Schema.JsonObject | null
}

interface SplitTurn extends Split {
  readonly developer: ReadonlyArray<string>
}

/** Where a conversation has only instructions, the last one is the question. */
const splitTurn = ({ developer, items }: AskedTurn): SplitTurn | undefined => {
  const found = split(items)
  if (found !== undefined) return { ...found, developer }
  const last = developer.at(-1)
  if (items.length > 0 || last === undefined) return undefined
  const current: UserItem = { role: "user", content: [{ type: "text", text: last }] }
  return { before: [], current, after: [], developer: developer.slice(0, -1) }
}

const noUser = invalid("The conversation has no message of a user.", null)

/** Pictures of a thread that is kept become documents of it, attached to the message; pictures by address stay in their place. */
const withoutBytes = (items: ReadonlyArray<Item>): ReadonlyArray<Item> =>
  items.map((item) =>
    item.role === "user"
      ? {
          ...item,
          content: item.content.map((part) =>
            part.type === "text" || part.url !== undefined
              ? part
              : { type: "text" as const, text: "[A file was sent here. It is attached to the last message.]" }
          )
        }
      : item
  )

const bytesIn = (items: ReadonlyArray<Item>): ReadonlyArray<MediaPart> =>
  items.flatMap((item) => (item.role === "user" ? mediaInItem(item).filter(({ url }) => url === undefined) : []))

const joinedSystem = (
  { developerBefore, format, instructions, system }: AskedTurn,
  developer: ReadonlyArray<string>
) => {
  const more = [...instructions, ...developerBefore, ...developer, formatInstruction(format) ?? ""]
  const given = more.filter((text) => text !== "")
  return given.length === 0 ? undefined : [system ?? "", ...given].filter((text) => text !== "").join("\n\n")
}

const turnRequest = (asked: AskedTurn, { after, before, current, developer }: SplitTurn): TurnRequest => {
  const media = mediaInItem(current)
  const transcript: Transcript = asked.isTemporary
    ? { before, after, media, developer: [], asked: null }
    : {
        before: withoutBytes(before),
        after: withoutBytes(after),
        media: media.filter(({ url }) => url !== undefined),
        developer,
        asked: asked.asked
      }
  const temporary = asked.isTemporary ? (asked.assistantId === undefined ? "assistant" : "thread") : null
  const search = asked.tools?.webSearch === true ? { search: { mode: "Auto" } } : {}
  return {
    content: textInItem(current),
    stream: asked.stream,
    jsonOutput: asked.format.type !== "text",
    options: Object.assign(transcriptOptions({ transcript, temporary }), search, asked.wingOptions),
    ...compact({
      threadId: asked.threadId,
      assistantId: asked.assistantId,
      provider: asked.provider,
      model: asked.model,
      systemPrompt: joinedSystem(asked, developer),
      tools: asked.tools?.tools,
      thinking: asked.thinking,
      modelOptions: asked.modelOptions,
      metadata: asked.metadata,
      busy: asked.busy,
      background: asked.background,
      sendToModel: asked.isOnlySaved === true ? false : undefined
    })
  }
}

/** Each message has the limit of a message's text, and a medium stands only where one is taken. */
const faultIn = ({ developer, instructions, items, media }: AskedTurn, limit: number): OpenAiError | null => {
  const texts = items.map((item) =>
    item.role === "user" ? textInItem(item) : item.role === "tool" ? item.output : item.content
  )
  if ([...texts, ...developer, ...instructions].some((text) => isLongerThan(text, limit)))
    return new OpenAiError({ status: 413, message: textOverLimit(limit) })
  const taken = items.flatMap((item) =>
    item.role === "user" ? mediaInItem(item).flatMap(({ held }) => held ?? []) : []
  )
  return taken.length < media.size ? invalid("A file stands in a field that takes none.", null) : null
}

const noDocuments = invalid(
  "This server keeps no files. Send pictures by their https address, or use store: false.",
  null,
  "unsupported_content"
)

export const makeStart = Effect.gen(function* () {
  const turns = yield* Turns
  const startWithFiles = yield* makeStartWithFiles
  const documents = Option.getOrNull(yield* Effect.serviceOption(Documents))
  const { make, undo } = yield* makeMadeAssistants
  const inMemory = yield* HeldMedia
  const { limits } = yield* HttpSettings

  const receive = Effect.fnUntraced(function* (
    use: typeof Documents.Service,
    { base64 = "", held, mediaType }: MediaPart,
    index: number,
    media: Media
  ): Effect.fn.Return<ReceivedFile, OpenAiError, Principal | Scope.Scope> {
    const filename = inlineName(mediaType, index)
    const bytes = held === undefined ? [decodeBase64(base64)] : (media.get(held)?.pieces ?? [])
    return yield* use
      .receive({ filename, bytes: Stream.fromIterable(bytes), purpose: "attachment" })
      .pipe(
        Effect.mapError((error) =>
          error._tag === "StoreUnavailable" ? fromKernel(error) : invalid(error.message, null, "unsupported_content")
        )
      )
  })

  /** Keeps the media until the turn has ended, or could not begin. */
  const holding = <E, R>(media: Media, begun: Effect.Effect<StartedTurn, E, R>) => {
    const release = Effect.sync(() => inMemory.release(media.keys()))
    return Effect.suspend(() => {
      inMemory.hold(media)
      return Effect.tap(
        Effect.onError(begun, () => release),
        ({ reply }) => Effect.forkDetach(Effect.ensuring(Effect.ignore(reply), release))
      )
    })
  }

  /** Begins the turn, or says why not. */
  const start = Effect.fnUntraced(function* (asked: AskedTurn) {
    const parts = splitTurn(asked)
    if (parts === undefined) return yield* noUser
    const fault = faultIn(asked, limits.text)
    if (fault !== null) return yield* fault
    const media = asked.isTemporary ? [] : bytesIn([...parts.before, parts.current, ...parts.after])
    if (media.length > 0 && documents === null) return yield* noDocuments
    // For a stateless request the kernel makes the assistant, and removes it together with the thread.
    const isNew = asked.threadId === undefined && asked.assistantId === undefined && !asked.isTemporary
    if (isNew) {
      const assistantId = yield* make
      return yield* Effect.onError(startSplit({ ...asked, assistantId }, parts, media), () => undo(assistantId))
    }
    return yield* startSplit(asked, parts, media)
  }, Effect.scoped)

  const startSplit = Effect.fnUntraced(function* (asked: AskedTurn, parts: SplitTurn, media: ReadonlyArray<MediaPart>) {
    const files =
      documents === null
        ? []
        : yield* Effect.forEach(media, (part, index) => receive(documents, part, index, asked.media))
    const begun = startWithFiles(turnRequest(asked, parts), files)
    return yield* asked.isTemporary && asked.media.size > 0 ? holding(asked.media, begun) : begun
  })

  /** Ends a run whose client has disconnected. */
  const cancel = (turn: StartedTurn): Effect.Effect<void, never, Principal> =>
    Effect.ignore(turns.cancel(turn.threadId, turn.runId))

  return { start, cancel }
})

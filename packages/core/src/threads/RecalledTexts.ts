/**
 * Texts of memories and documents that rooms keep with messages and logs: what was recalled for an answer, and outputs of search tools. A
 * reader gets them as long as their source exists. It is looked up at every reading, so that a deletion holds at once, for every reader and
 * also for what a run under way stores after it. Rooms register what they keep.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import type { RunId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { isPlain, type ListedMessage } from "./ListedMessage.ts"
import type { History, Message, Step } from "./Message.ts"
import { readSupplement } from "./Supplement.ts"

/** What one part keeps. The items of its prompts name their source; an item without one is not shown. */
export interface KeptTexts {
  readonly part: string
  /** The tools of the part. Their outputs are not shown when a source that the part has kept with the same message is gone. */
  readonly tools: ReadonlyArray<string>
  /** Those of these sources that the principal still has. */
  readonly existing: (
    sources: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable, Principal>
  /** Pure: a value that the part has kept or told, without the texts of sources that are gone. Asks about every source in it. */
  readonly shown: (value: Schema.Json, exists: (source: string) => boolean) => Schema.Json
}

/** Leaves out the texts of one part whose sources are gone. */
export interface TextsShown {
  readonly value: (value: Schema.Json) => Schema.Json
  readonly exists: (source: string) => boolean
  /** Whether every source of a value exists. */
  readonly isWhole: (value: Schema.Json) => boolean
}

/** Undefined: the part keeps no such texts. */
export type ShownByPart = (part: string) => TextsShown | undefined

/** The output of a tool that is not shown. */
export const outputOfDeleted = "What was found here has been deleted since."

export class RecalledTexts extends Context.Service<
  RecalledTexts,
  {
    readonly register: (texts: KeptTexts) => Effect.Effect<void, never, Scope.Scope>
    readonly parts: () => ReadonlyMap<string, KeptTexts>
    /** `read` gets what leaves out texts, and may be called twice. */
    readonly reading: <A>(read: (shownByPart: ShownByPart) => A) => Effect.Effect<A, StoreUnavailable, Principal>
    readonly messages: <Each extends ListedMessage>(
      messages: ReadonlyArray<Each>
    ) => Effect.Effect<ReadonlyArray<Each>, StoreUnavailable, Principal>
    /** What a leg of a run reads of earlier legs and of outputs of search tools. If the store does not answer, it reads none of these. */
    readonly history: (history: History, runId: RunId) => Effect.Effect<History, never, Principal>
  }
>()("@colloquy/core/threads/RecalledTexts") {
  static readonly layer: Layer.Layer<RecalledTexts> = Layer.sync(RecalledTexts, () => {
    const parts = new Map<string, KeptTexts>()

    const reading = Effect.fnUntraced(function* <A>(read: (shownByPart: ShownByPart) => A) {
      const sources = new Map<string, Set<string>>()
      const all = read(
        shownWith(parts, (part, source) => {
          const found = sources.get(part) ?? new Set()
          sources.set(part, found.add(source))
          return true
        })
      )
      const existing = new Map<string, ReadonlySet<string>>()
      for (const [part, asked] of sources) {
        existing.set(part, new Set(yield* parts.get(part)?.existing([...asked]) ?? Effect.succeed([])))
      }
      const exists = (part: string, source: string) => existing.get(part)?.has(source) === true
      const isWhole = [...sources].every(([part, asked]) => [...asked].every((source) => exists(part, source)))
      return isWhole ? all : read(shownWith(parts, exists))
    })

    const messages = <Each extends ListedMessage>(all: ReadonlyArray<Each>) =>
      all.some((message) => keepsTexts(message, parts))
        ? reading((shownByPart) =>
            all.map((message) =>
              keepsTexts(message, parts) ? Object.assign({}, message, shownTexts(message, parts, shownByPart)) : message
            )
          )
        : Effect.succeed(all)

    const history = Effect.fnUntracedEager(function* (found: History, runId: RunId) {
      if (parts.size === 0) return found
      const tools = new Set([...parts.values()].flatMap((part) => part.tools))
      const read = found.messages.filter(
        (message) =>
          message.role === "assistant" &&
          (message.runId === runId ||
            message.steps.some((step) => step.hostedResults.some(({ toolName }) => tools.has(toolName))))
      )
      if (read.length === 0) return found
      const shown = yield* Effect.catchTag(messages(read), "StoreUnavailable", () =>
        Effect.succeed(read.map((message) => ({ ...message, ...withoutTexts(message, parts, tools) })))
      )
      const byId = new Map(shown.map((message) => [message.id, message]))
      return { ...found, messages: found.messages.map((message) => byId.get(message.id) ?? message) }
    })

    return RecalledTexts.of({
      parts: () => parts,
      history,
      messages,
      register: (texts) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => parts.set(texts.part, texts)),
            () => Effect.sync(() => parts.delete(texts.part))
          )
        ),
      reading
    })
  })
}

type Exists = (part: string, source: string) => boolean

const shownWith =
  (parts: ReadonlyMap<string, KeptTexts>, exists: Exists): ShownByPart =>
  (name) => {
    const part = parts.get(name)
    if (part === undefined) return undefined
    return {
      value: (value) => part.shown(value, (source) => exists(name, source)),
      exists: (source) => exists(name, source),
      isWhole: (value) => {
        let isWhole = true
        part.shown(value, (source) => {
          isWhole = exists(name, source) && isWhole
          return true
        })
        return isWhole
      }
    }
  }

const isObject = Schema.is(Schema.JsonObject)
const isList = Schema.is(Schema.Array(Schema.JsonObject))
export type JsonRecord = Readonly<Record<string, Schema.Json>>
export const asObject = (value: unknown): JsonRecord | null => (isObject(value) ? value : null)
export const asList = (value: unknown): ReadonlyArray<JsonRecord> => (isList(value) ? value : [])

const withoutItems = (prompt: Schema.Json, exists: (source: string) => boolean): Schema.Json =>
  asList(prompt).map((part) => ({
    ...part,
    items: asList(part["items"]).filter(({ source }) => typeof source === "string" && exists(source))
  }))

type Texts = Pick<Message, "steps" | "supplements">

const keepsTexts = (message: ListedMessage, parts: ReadonlyMap<string, KeptTexts>): message is Message =>
  !isPlain(message) && message.supplements !== null && Object.keys(message.supplements).some((part) => parts.has(part))

/** The fields of a message that are shown in another form than they are stored. */
const shownTexts = (message: Texts, parts: ReadonlyMap<string, KeptTexts>, shownByPart: ShownByPart): Texts => {
  const supplements: Record<string, Schema.Json> = { ...message.supplements }
  const hidden = new Set<string>()
  for (const name of Object.keys(supplements)) {
    const shown = shownByPart(name)
    const kept = readSupplement(message, name)
    if (shown === undefined || kept === null) continue
    if (!shown.isWhole(kept.value)) for (const tool of parts.get(name)?.tools ?? []) hidden.add(tool)
    supplements[name] = {
      value: shown.value(kept.value),
      ...(kept.prompt === undefined ? {} : { prompt: withoutItems(kept.prompt, shown.exists) })
    }
  }
  return {
    supplements,
    steps: hidden.size === 0 ? message.steps : message.steps.map((step) => withoutOutputs(step, hidden))
  }
}

const withoutTexts = (
  { steps, supplements }: Texts,
  parts: ReadonlyMap<string, KeptTexts>,
  tools: ReadonlySet<string>
): Texts => ({
  steps: steps.map((step) => withoutOutputs(step, tools)),
  supplements:
    supplements === null ? null : Object.fromEntries(Object.entries(supplements).filter(([part]) => !parts.has(part)))
})

const withoutOutputs = (step: Step, tools: ReadonlySet<string>): Step => ({
  ...step,
  hostedResults: step.hostedResults.map((result) =>
    tools.has(result.toolName) ? { ...result, output: outputOfDeleted } : result
  )
})

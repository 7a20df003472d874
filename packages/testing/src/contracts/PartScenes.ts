/** What the contract of parts gives to a part: turns before and after they are stored, texts, options, answers. */
import type { HostedTool, LiveTurn, Message, TurnPart } from "@colloquy/core"
import {
  AssistantStore,
  describeModel,
  type History,
  noCharge,
  noUsage,
  type SavedMessage,
  type SettledLeg,
  type TurnCase
} from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { awkwardJson, longText, moment, sampleBegin } from "./Samples.ts"
import { openThread } from "./Scenes.ts"

/** A turn that the part joins. The fields that are absent are those of a short message on a new thread. */
export type SampleTurn = Partial<Pick<TurnCase, "content" | "hasDocuments" | "options" | "system">>

export const oddOptions: ReadonlyArray<Schema.Json> = [
  null,
  7,
  "on",
  "",
  true,
  [],
  [null],
  {},
  awkwardJson,
  { mode: 7 },
  { mode: "\ud800" },
  { mode: null, model: [] }
]

export const oddTexts = ["", " ", "\n", "\0", "\ud800 alone", "👩‍👩‍👧‍👦🏳️‍🌈", "e\u0301\u2028", longText.slice(0, 100_000)]

export const ordinaryTexts = ["Hello.", "Tea is a drink.\nIt is made with hot water, and it may have milk."]

/** What a model writes that has to answer in JSON. */
export const writtenJson = ["{}", "7", '{"text": "Hello."', '```json\n{"a": [1, null]}\n```']

export const sampleTool: HostedTool = {
  definition: {
    name: "tool_of_the_host",
    description: "Does nothing.",
    parameters: { type: "object", properties: {} }
  },
  run: () => Effect.succeed("done")
}

type Received = Parameters<NonNullable<TurnPart<null>["receive"]>>[0]

export const modelOutputs: ReadonlyArray<Received> = [
  { media: [], sources: [{ url: "https://a.example", title: null }] },
  { media: [{ mediaType: "image/png", bytes: new Uint8Array([137, 80, 78, 71]) }], sources: [] },
  { media: [{ mediaType: "", bytes: new Uint8Array(0) }], sources: [{ url: "", title: "" }] }
]

export const openCase = Effect.fnUntraced(function* (name: string, sample: SampleTurn) {
  const thread = yield* openThread
  const assistant = Option.getOrThrow(yield* (yield* AssistantStore).get(thread.assistantId))
  const { content = "Hello", hasDocuments = false, options, system = null } = sample
  const [provider, model] = ["scripted", "scripted-model"]
  const turn: TurnCase = {
    request: { content, threadId: thread.id, ...(options === undefined ? {} : { options: { [name]: options } }) },
    options,
    assistant,
    thread,
    summary: null,
    isNewThread: true,
    hasDocuments,
    content,
    system,
    provider,
    model,
    info: describeModel({ name: model, provider, modelType: "llm" }),
    rewrite: null
  }
  return turn
})

const isJson = Schema.is(Schema.Json)

/** Takes what a part tells and keeps. What is no JSON throws, as in the kernel, and is noted, because a part may catch what is thrown. */
export const makeListener = () => {
  const noJson: Array<unknown> = []
  const told: Array<Schema.Json> = []
  const kept: Array<Schema.Json> = []
  const take = (value: Schema.Json): Schema.Json => {
    if (isJson(value)) return value
    noJson.push(value)
    throw new TypeError("The part told or kept something that is no JSON")
  }
  return {
    noJson,
    /** What was told and kept. */
    shown: () => [...told, ...kept],
    tell: ({ data }: { readonly data: Schema.Json }) => void told.push(take(data)),
    keep: (supplement: Schema.Json) => void kept.push(take(supplement)),
    kept: () => kept.at(-1) ?? null,
    spend: () => {},
    beginCharge: noCharge
  }
}

/** A leg that answers the turn. `rewriting`: what parts of the turn that rewrite do with found texts; null: none does. */
export const openLeg = Effect.fnUntraced(function* (
  turn: TurnCase,
  by: { provider: string; model: string },
  rewriting: LiveTurn["rewriting"] = null
) {
  const { assistant, content, thread } = turn
  const { message, run } = yield* sampleBegin(thread.id, { message: { content } })
  const { noJson, shown, ...listener } = makeListener()
  const live: LiveTurn = {
    threadId: thread.id,
    assistantId: assistant.id,
    runId: run.id,
    content,
    metadata: null,
    rewriting,
    answerId: run.answerId,
    ...by,
    ...listener,
    beginRun: () => Effect.succeed(null),
    handOver: () => Effect.succeed(null),
    journal: () => Effect.void,
    ensureCredit: () => Effect.void
  }
  const stored: Message = { ...message, sequence: 1 }
  const history: History = { messages: [stored], older: { messages: 0, tokens: 0 } }
  return { live, history, message: stored, noJson, shown }
})

/** Rewrites each text to one that has no word of it, and notes which texts are not rewritten: those that it was given. */
export const makeRewriting = () => {
  const given: Array<string> = []
  const done = new Set<string>()
  const rewriting: NonNullable<LiveTurn["rewriting"]> = {
    rewrite: (text) =>
      Effect.sync(() => {
        if (done.has(text)) return text
        given.push(text)
        const rewritten = `<${given.length}>`
        done.add(rewritten)
        return rewritten
      }),
    done: (text) => void done.add(text)
  }
  return { rewriting, given, isDone: (text: string) => done.has(text) }
}

/** Every text in a value. */
export const textsIn = (value: Schema.Json): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : []
}

export type OpenLeg = Effect.Success<ReturnType<typeof openLeg>>

/** The ends that a part is told: of a message that is only saved, and of an answer in every status, with and without a kept value. */
export const legEnds = (part: string, { live, message }: OpenLeg): ReadonlyArray<SavedMessage | SettledLeg> => {
  const { answerId: messageId, assistantId, model, provider, runId, threadId } = live
  const of = { threadId, assistantId, runId }
  const ends = (["COMPLETED", "REQUIRES_ACTION", "FAILED", "CANCELLED"] as const).flatMap((status) =>
    [null, live.kept()].map((kept): SettledLeg => {
      const leg: SettledLeg["leg"] = {
        messageId,
        provider,
        model,
        assistant: null,
        at: moment(2).toISOString(),
        content: status === "COMPLETED" ? "An answer." : "",
        steps: [],
        openCalls: status === "REQUIRES_ACTION" ? [{ id: "call_1", name: "look_up", arguments: "{}" }] : [],
        approvedResults: [],
        ownUsage: noUsage,
        usage: noUsage,
        modelCalls: 1,
        firstTokenAt: null,
        charges: [],
        stopReason: status === "COMPLETED" ? "stop" : null,
        supplements: kept === null ? null : { [part]: { value: kept } },
        keptAs: undefined
      }
      return { ...of, leg, status, historyLeavingSoon: 3, kept }
    })
  )
  return [{ ...of, status: "SAVED", message }, ...ends]
}

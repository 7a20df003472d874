/**
 * Steps 2 and 3 of a turn, for its parts: which parts listen to the message, which parts take part in the turn, and what they decided
 * together. Nothing is stored yet; every refusal by a part comes from here.
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { tokensIn } from "../models/ReportedFigures.ts"
import { type Supplement, makeSupplements } from "../threads/Supplement.ts"
import type { Supplements } from "../threads/Message.ts"
import { fixedTools, type HostedTool } from "../tools/HostedTool.ts"
import { hostedMark } from "../tools/ToolDefinition.ts"
import { TurnRefused } from "./TurnErrors.ts"
import type { PartError, PlannedPart, RegisteredPart } from "./RegisteredPart.ts"
import type { Rewrite } from "./Rewrite.ts"
import { rewritingOnce } from "./Rewriting.ts"
import type { Listening, PartAnswerer, PartDecision, TurnCase } from "./TurnPart.ts"
import type { IgnoredOption } from "./IgnoredOption.ts"
import type { TurnRequest } from "./TurnRequest.ts"

/** The decisions of all parts of a turn. */
export interface PartsDecided {
  /** The plans by the names of their parts, as they are stored. */
  readonly plans: Schema.JsonObject
  readonly planned: ReadonlyArray<PlannedPart>
  readonly tools: ReadonlyArray<HostedTool>
  /** The supplements of the user's message. */
  readonly supplements: Supplements | null
  /** Tokens that the supplements add to the prompt. */
  readonly tokens: number
  readonly ignored: ReadonlyArray<IgnoredOption>
  /** The part that answers instead of a model, with the provider and model that it names. */
  readonly answers: (PartAnswerer & { readonly part: string }) | null
  readonly allowsEmptyContent: boolean
  /** The content that is stored for a user's message without text of its own. */
  readonly content: string | null
}

const nothingDecided: PartsDecided = {
  plans: {},
  planned: [],
  tools: [],
  supplements: null,
  tokens: 0,
  ignored: [],
  answers: null,
  allowsEmptyContent: false,
  content: null
}

/** Refuses options for a part that this kernel does not have: such an option would otherwise be ignored silently. */
export const refuseAbsentParts = (
  parts: ReadonlyArray<RegisteredPart>,
  options: Schema.JsonObject
): Effect.Effect<void, TurnRefused> => {
  const absent = Object.keys(options).filter((name) => !parts.some((part) => part.name === name))
  const [part] = absent
  if (part === undefined) return Effect.void
  const problems = absent.map((name) => ({ path: [], message: `This server has no "${name}".` }))
  return Effect.fail(new TurnRefused({ part, reason: "absent", problems }))
}

/**
 * Refuses a hosted tool that a list of tools names but that neither a part of this turn nor the host offers: it would otherwise be left out
 * silently. Two tools of one name are a fault of the server: which of them would run depends on the order of names.
 */
export const checkTools = (
  { assistant, request }: Pick<TurnCase, "assistant" | "request">,
  planned: ReadonlyArray<Pick<PlannedPart, "name" | "ownTools" | "tools">>,
  hosted: ReadonlyArray<HostedTool>
): Effect.Effect<void, TurnRefused> => {
  const tools = request.sendToModel === false ? [] : (request.tools ?? assistant.tools ?? [])
  const all = [...planned.flatMap((part) => part.tools), ...hosted]
  const fixed = fixedTools(all).map(({ name }) => name)
  const twice = fixed.find((name, index) => fixed.indexOf(name) !== index)
  if (twice !== undefined) {
    const message = `Two tools of this turn have the name "${twice}". Rename one.`
    const part = planned.find((each) =>
      each.tools.some((tool) => tool.isNamedByOwner && tool.definition.name === twice)
    )
    return part === undefined
      ? Effect.die(new Error(message))
      : Effect.fail(new TurnRefused({ part: part.name, reason: "invalid", problems: [{ path: [], message }] }))
  }
  if (tools.length === 0) return Effect.void
  const names = all.map(({ definition }) => definition.name)
  const brought = new Set<string>([...planned.flatMap((part) => part.ownTools), ...names])
  const problems = tools.flatMap((tool, index) => {
    if (!hostedMark(tool) || brought.has(tool.name)) return []
    const whose = request.tools === undefined ? "which the assistant carries" : "which the list of tools names"
    const message = `This server has no "${tool.name}", ${whose}. Leave it out of the tools.`
    return [{ path: request.tools === undefined ? [] : [index], message }]
  })
  if (problems.length === 0) return Effect.void
  return Effect.fail(new TurnRefused({ part: "tools", reason: "absent", problems }))
}

/** The message of a turn after its parts have rewritten it and listened. */
export interface Consulted {
  /** The content of the message, with what was heard. */
  readonly heard: string
  /** With the options of parts as they were rewritten. */
  readonly request: TurnRequest
  readonly parts: PartsDecided
}

interface HeardWords {
  readonly content: string
  readonly supplements: ReadonlyArray<readonly [part: string, supplement: Supplement]>
  /** The turn as the parts see it: with the rewritten text and options. */
  readonly turn: TurnCase
}

/** What of a question that is asked again was stored the first time, as the parts that rewrite left it: its content, and options of parts. */
export interface StoredTexts {
  readonly content: boolean
  readonly options: ReadonlyArray<string>
}

/** The parts whose `concerns` function selects this turn, and the parts without that function. */
export const concernedParts = (parts: ReadonlyArray<RegisteredPart>, turn: TurnCase): ReadonlyArray<RegisteredPart> =>
  parts.filter((part) => part.concerns(turn))

/** Whether a part may listen to this message. If so, the stream may begin before the message is stored. */
export const isHeard = (parts: ReadonlyArray<RegisteredPart>, { options }: TurnRequest): boolean =>
  parts.some((part) => part.has("listen") && options?.[part.name] !== undefined)

/** Whether a part reads each message before the turn is decided. */
export const isRewritten = (parts: ReadonlyArray<RegisteredPart>): boolean => parts.some((part) => part.has("rewrite"))

/**
 * Step 2. The written text and the options of parts are rewritten, then every part may refuse, then the parts listen. The content is the
 * written text, followed by what each part heard, rewritten too.
 */
const listen = Effect.fnUntraced(function* (
  parts: ReadonlyArray<RegisteredPart>,
  written: TurnCase,
  listening: (part: string) => Listening,
  stored: StoredTexts | null
): Effect.fn.Return<HeardWords, PartError, Principal> {
  const { assistant, thread } = written
  const source = { kind: "message", threadId: thread.id, assistantId: assistant.id } as const
  const rewrite = rewritingOnce(parts, source)?.rewrite ?? null
  const turn = rewrite === null ? written : yield* rewriteTurn(parts, written, rewrite, stored)
  const texts = [turn.content]
  const supplements: Array<readonly [string, Supplement]> = []
  for (const part of parts) yield* part.refuse(turn)
  for (const part of parts) {
    const heard = yield* part.listen(turn, listening(part.name))
    if (heard === null) continue
    texts.push(rewrite === null ? heard.content : yield* rewrite(heard.content))
    if (heard.supplement !== undefined) supplements.push([part.name, { value: heard.supplement }])
  }
  return { content: texts.filter((text) => text.trim() !== "").join("\n\n"), supplements, turn }
})

/** Parts also find the text in the request. What was stored before was rewritten before that. */
const rewriteTurn = Effect.fnUntraced(function* (
  parts: ReadonlyArray<RegisteredPart>,
  turn: TurnCase,
  rewrite: Rewrite,
  stored: StoredTexts | null
): Effect.fn.Return<TurnCase, PartError, Principal> {
  const { options } = turn.request
  const content = stored?.content === true ? turn.content : yield* rewrite(turn.content)
  if (options === undefined) return { ...turn, rewrite, content, request: { ...turn.request, content } }
  const rewritten = new Map(Object.entries(options))
  for (const part of parts) {
    const own = rewritten.get(part.name)
    if (own !== undefined && stored?.options.includes(part.name) !== true)
      rewritten.set(part.name, yield* part.rewriteOptions(own, rewrite))
  }
  const request = { ...turn.request, content, options: Object.fromEntries(rewritten) }
  return { ...turn, rewrite, content, request }
})

/** Step 3. The parts decide in parallel. If several refuse, the refusal of the first by name is returned. */
export const decideParts = Effect.fnUntraced(function* (
  parts: ReadonlyArray<RegisteredPart>,
  turn: TurnCase,
  heard: HeardWords["supplements"]
): Effect.fn.Return<PartsDecided, PartError, Principal> {
  if (parts.length === 0) return nothingDecided
  const exits = yield* Effect.forEach(parts, (part) => Effect.exit(part.decide(turn)), {
    concurrency: "unbounded"
  })
  const decided: Array<Decided> = []
  for (const [index, part] of parts.entries()) {
    const decision = yield* exits[index] ?? Effect.succeed(null)
    const planned = decision === null ? null : part.planned(decision.plan)
    if (decision !== null && planned !== null) decided.push({ decision, planned })
  }
  if (decided.length === 0 && heard.length === 0) return nothingDecided
  yield* checkContents(turn, decided)
  const all = yield* combineDecisions(decided, heard)
  const giving = decided.find(({ decision }) => decision.content !== undefined)
  if (all.content === null || turn.rewrite === null || giving?.planned.has("rewriteOptions") === true) return all
  return { ...all, content: yield* turn.rewrite(all.content) }
})

/** Steps 2 and 3 for the parts that the turn concerns: of most turns that is none. */
export const consultParts = (
  parts: ReadonlyArray<RegisteredPart>,
  turn: TurnCase,
  listening: (part: string) => Listening,
  stored: StoredTexts | null
): Effect.Effect<Consulted, PartError, Principal> =>
  parts.length === 0
    ? Effect.succeed({ heard: turn.content, request: turn.request, parts: nothingDecided })
    : Effect.flatMap(listen(parts, turn, listening, stored), ({ content, supplements, turn: rewritten }) =>
        Effect.map(decideParts(parts, { ...rewritten, content }, supplements), (decided) => ({
          heard: content,
          request: rewritten.request,
          parts: decided
        }))
      )

interface Decided {
  readonly decision: PartDecision<Schema.Json>
  readonly planned: PlannedPart
}

/** A content beside a text, or a second content, would otherwise be ignored silently. */
const checkContents = ({ content }: TurnCase, decided: ReadonlyArray<Decided>): Effect.Effect<void, TurnRefused> => {
  const [first, second] = decided.filter(({ decision }) => decision.content !== undefined)
  const ignored = content.trim() === "" ? second : first
  if (first === undefined || ignored === undefined) return Effect.void
  const part = ignored.planned.name
  const beside = ignored === first ? "the message has a text" : `the part "${first.planned.name}" gives one too`
  const message = `The part "${part}" gives a content for the message, but ${beside}. A part changes a text by its step "rewrite".`
  return Effect.fail(new TurnRefused({ part, reason: "invalid", problems: [{ path: [], message }] }))
}

const combineDecisions = (
  decided: ReadonlyArray<Decided>,
  heard: HeardWords["supplements"]
): Effect.Effect<PartsDecided, TurnRefused> => {
  const supplements = new Map(heard)
  const answering = decided.flatMap(({ decision, planned }) =>
    decision.answers === undefined ? [] : [{ part: planned.name, ...decision.answers }]
  )
  const [answers = null, another] = answering
  if (another !== undefined) {
    const message = `"${another.part}" and "${answers?.part}" both want to answer this message. Ask for one of them.`
    return Effect.fail(new TurnRefused({ part: another.part, reason: "invalid", problems: [{ path: [], message }] }))
  }
  for (const { decision, planned } of decided) {
    if (decision.supplement !== undefined) supplements.set(planned.name, { value: decision.supplement })
  }
  return Effect.succeed({
    plans: Object.fromEntries(decided.map(({ decision, planned }) => [planned.name, decision.plan])),
    planned: decided.map(({ planned }) => planned),
    tools: decided.flatMap(({ planned }) => planned.tools),
    supplements: makeSupplements(supplements),
    tokens: decided.reduce((sum, { decision }) => sum + tokensIn(decision.tokens ?? 0), 0),
    ignored: decided.flatMap(({ decision }) => decision.ignored ?? []),
    answers,
    allowsEmptyContent: decided.some(({ decision }) => decision.allowsEmptyContent === true),
    content: decided.find(({ decision }) => decision.content !== undefined)?.decision.content ?? null
  })
}

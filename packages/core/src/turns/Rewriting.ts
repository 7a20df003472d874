/** Texts that enter a turn pass the parts that rewrite, in the order of their names. Most turns have no such part. */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import { type LiveTurn, TextWithheld } from "../tools/LiveTurn.ts"
import { isJson, withoutEscapes } from "./JsonEscapes.ts"
import type { PartError, PlannedPart, RegisteredPart } from "./RegisteredPart.ts"
import type { Rewrite, TextSource } from "./Rewrite.ts"
import { TurnRefused } from "./TurnErrors.ts"

/** Null if none of the parts rewrites. */
export const rewriteBy = (
  parts: ReadonlyArray<Pick<RegisteredPart, "has" | "rewrite">>,
  source: TextSource
): Rewrite | null => {
  const rewriting = parts.filter((part) => part.has("rewrite"))
  if (rewriting.length === 0) return null
  return Effect.fnUntraced(function* (
    text: string,
    kind = source.kind
  ): Effect.fn.Return<string, PartError, Principal> {
    let rewritten = kind === "tool_output" && isJson(text) ? withoutEscapes(text) : text
    for (const part of rewriting) rewritten = yield* part.rewrite(rewritten, { ...source, kind })
    return rewritten
  })
}

/** Each text once: what came out of `rewrite`, and what `done` was told, stays as it is. Null if none of the parts rewrites. */
export const rewritingOnce = (...[parts, source]: Parameters<typeof rewriteBy>) => {
  const rewriteText = rewriteBy(parts, source)
  if (rewriteText === null) return null
  const known = new Set<string>()
  const done = (text: string): void => void known.add(text)
  const rewrite: Rewrite = (text, kind) =>
    known.has(text)
      ? Effect.succeed(text)
      : Effect.map(rewriteText(text, kind), (rewritten) => {
          done(rewritten)
          return rewritten
        })
  return { rewrite, done }
}

/** The fields of a leg that rewriting needs. */
interface LegParts extends Pick<TextSource, "assistantId"> {
  readonly lease: Pick<TextSource, "threadId">
  readonly parts: Parameters<typeof rewriteBy>[0]
}

/** Rewrites texts that a part or a tool of this leg finds. Null: no part rewrites. */
export const legRewriting = (
  { assistantId, lease, parts }: LegParts,
  kind: TextSource["kind"]
): LiveTurn["rewriting"] => {
  const once = rewritingOnce(parts, { kind, threadId: lease.threadId, assistantId })
  return once && { ...once, rewrite: (text) => Effect.catchCause(once.rewrite(text), withhold) }
}

const withhold = (cause: Cause.Cause<PartError>) =>
  Effect.andThen(
    Effect.logError("A text that a part or a tool found could not be rewritten", cause),
    Effect.fail(new TextWithheld())
  )

/** The names of the parts without which the run may not go on. */
export const guardNames = (parts: ReadonlyArray<PlannedPart>): ReadonlyArray<string> =>
  parts.filter((part) => part.has("rewrite") || part.has("review")).map(({ name }) => name)

/** A part that the run began with, that rewrites or reviews, and that this process does not have or whose plan it cannot read. */
export const missingGuard = (
  guards: ReadonlyArray<string> = [],
  parts: ReadonlyArray<PlannedPart> = []
): string | undefined => guards.find((name) => !parts.some((part) => part.name === name))

export const refusedWithout = (part: string): TurnRefused => {
  const message = `This server cannot go on with the conversation, because the part "${part}", which checks it, is not there.`
  return new TurnRefused({ part, reason: "absent", problems: [{ path: [], message }] })
}

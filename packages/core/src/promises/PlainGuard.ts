/**
 * A guard as plain code: `guard({ before, after })`. `before` reads what enters a turn, `after` what an answer says, before anybody else
 * does. What they throw is never overlooked: the message is refused, the answer is withheld.
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Principal } from "../access/Principal.ts"
import { TurnRefused } from "../turns/TurnErrors.ts"
import type { Review, ReviewedPiece, Verdict } from "../turns/Review.ts"
import type { TextSource } from "../turns/Rewrite.ts"
import { TurnParts } from "../turns/TurnParts.ts"

interface GuardContext {
  readonly owner: string
  readonly signal: AbortSignal
}

/** A promise or the value itself; nothing lets the text pass. */
type Found<Value> = Value | string | null | undefined | Promise<Value | string | null | undefined>

export interface PlainGuard {
  /** Default: `guard`. Two guards of a kernel need two names; they work in the order of their names. */
  readonly name?: string
  /**
   * Reads the user's words, outputs of tools and recalled texts before they are stored and before the model reads them. A text replaces
   * what was read, and `{ refuse }` refuses the message with this sentence (`TurnRefused`).
   */
  readonly before?: (text: string, context: GuardContext & TextSource) => Found<{ readonly refuse: string }>
  /**
   * Reads the answer before anybody does. A text is told instead of what was read, `{ stop }` fails the run with this sentence, `{ replace }`
   * is told instead of it and of all that follows.
   */
  readonly after?: (
    text: string,
    context: GuardContext & Omit<ReviewedPiece, "text">
  ) => Found<{ readonly stop: string } | { readonly replace: string }>
  /** How much of a streamed answer `after` reads at a time, and so how much is held back. Default: `sentence`. */
  readonly by?: Review["by"]
}

/** Checks messages and answers with plain async functions. */
export const guard = ({
  after,
  before,
  by = "sentence",
  name = "guard"
}: PlainGuard): Layer.Layer<never, never, TurnParts> => {
  if (by !== "sentence" && by !== "whole")
    throw new TypeError(`The guard "${name}" reads by ${JSON.stringify(by)}. It must be "sentence" or "whole".`)
  return TurnParts.part({
    name,
    plan: Schema.Null,
    decide: () => Effect.succeed({ plan: null }),
    ...(before === undefined
      ? {}
      : {
          rewrite: (text: string, source: TextSource) =>
            Effect.flatMap(
              forOwner((context) => before(text, { ...source, ...context })),
              (found) => {
                if (found === undefined || found === null) return Effect.succeed(text)
                if (typeof found === "string") return Effect.succeed(found)
                if (!hasText(found, "refuse")) throw unreadable(name, "before", found, "{ refuse: string }")
                const problems = [{ path: [], message: found.refuse }]
                return Effect.fail(new TurnRefused({ part: name, reason: "invalid", problems }))
              }
            )
        }),
    ...(after === undefined
      ? {}
      : {
          review: (): Review => ({
            by,
            judge: ({ text, ...piece }) =>
              Effect.map(
                forOwner((context) => after(text, { ...piece, ...context })),
                (found) => readVerdict(name, found)
              )
          })
        })
  })
}

/** What is thrown is a defect: the message is refused, or the run ends, because the text was not read. */
const forOwner = <A>(ask: (context: GuardContext) => A | Promise<A>): Effect.Effect<A, never, Principal> =>
  Effect.flatMap(Principal, ({ ownerId }) => Effect.promise(async (signal) => ask({ owner: ownerId, signal })))

const readVerdict = (
  guardName: string,
  found: string | { readonly stop: string } | { readonly replace: string } | null | undefined
): Verdict => {
  if (found === undefined || found === null) return { _tag: "Pass" }
  if (typeof found === "string") return { _tag: "Change", text: found }
  if (hasText(found, "stop")) return { _tag: "Stop", reason: found.stop }
  if (hasText(found, "replace")) return { _tag: "Replace", text: found.replace }
  throw unreadable(guardName, "after", found, "{ stop: string }, { replace: string }")
}

/** A host may write a guard without types. */
const hasText = <Key extends string>(found: unknown, key: Key): found is { readonly [Each in Key]: string } =>
  Predicate.hasProperty(found, key) && typeof found[key] === "string"

const unreadable = (guardName: string, hook: "before" | "after", found: unknown, objects: string) =>
  new TypeError(
    `The guard "${guardName}" returned ${inWords(found)} from "${hook}". It may return a text, ${objects}, or nothing: undefined or null.`
  )

/** What kind of value a guard has returned. Of an object only the fields and their types: their values may be words of a conversation. */
const inWords = (found: unknown): string => {
  if (typeof found === "number" || typeof found === "boolean") return String(found)
  if (typeof found !== "object" || found === null) return `a ${typeof found}`
  if (Array.isArray(found)) return "a list"
  const fields = Object.entries(found).map(([key, value]) => `${key}: ${typeof value}`)
  return fields.length === 0 ? "an empty object" : `{ ${fields.join(", ")} }`
}

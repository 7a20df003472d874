/**
 * A guard as plain code: `guard({ before, after })`. `before` reads what enters a turn, `after` what an answer says, before anybody else
 * does. What they throw is never overlooked: the message is refused, the answer is withheld.
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Principal } from "../access/Principal.ts"
import { TurnRefused } from "../turns/TurnErrors.ts"
import type { Review, ReviewedPiece, Verdict } from "../turns/Review.ts"
import type { TextSource } from "../turns/TurnPart.ts"
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
}: PlainGuard): Layer.Layer<never, never, TurnParts> =>
  TurnParts.part({
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
                readVerdict
              )
          })
        })
  })

/** What is thrown is a defect: the message is refused, or the run ends, because the text was not read. */
const forOwner = <A>(ask: (context: GuardContext) => A | Promise<A>): Effect.Effect<A, never, Principal> =>
  Effect.flatMap(Principal, ({ ownerId }) => Effect.promise(async (signal) => ask({ owner: ownerId, signal })))

const readVerdict = (
  found: string | { readonly stop: string } | { readonly replace: string } | null | undefined
): Verdict => {
  if (found === undefined || found === null) return { _tag: "Pass" }
  if (typeof found === "string") return { _tag: "Change", text: found }
  return "stop" in found ? { _tag: "Stop", reason: found.stop } : { _tag: "Replace", text: found.replace }
}

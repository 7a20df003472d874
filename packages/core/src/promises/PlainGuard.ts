/** A guard as plain async code: `guard({ before, after })` reads what enters a turn and what an answer says, before anybody else does. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Principal } from "../access/Principal.ts"
import { TurnRefused } from "../turns/TurnErrors.ts"
import type { Review, TextSource, Verdict } from "../turns/TurnPart.ts"
import { TurnParts } from "../turns/TurnParts.ts"

interface GuardContext {
  readonly owner: string
  readonly signal: AbortSignal
}

export interface PlainGuard {
  /** Default: `guard`. Two guards of a kernel need two names; they work in the order of their names. */
  readonly name?: string
  /**
   * Reads the user's words, outputs of tools and recalled texts before they are stored and before the model reads them. A text replaces
   * what was read, `{ refuse }` refuses the message with this sentence, and nothing lets it pass.
   */
  readonly before?: (
    text: string,
    context: GuardContext & Pick<TextSource, "kind">
  ) => Promise<string | { readonly refuse: string } | undefined>
  /**
   * Reads the answer before anybody does. A text is told instead of what was read, `{ stop }` fails the run with this sentence, `{ replace }`
   * is told instead of it and of all that follows, and nothing lets it pass.
   */
  readonly after?: (
    text: string,
    context: GuardContext & { /** The tool whose arguments the text is. */ readonly tool: string | null }
  ) => Promise<string | { readonly stop: string } | { readonly replace: string } | undefined>
  /** How much of a streamed answer `after` reads at a time, and so how much is held back. Default: `sentence`. */
  readonly by?: Review["by"]
}

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
          rewrite: (text: string, { kind }: TextSource) =>
            Effect.flatMap(
              forOwner((context) => before(text, { ...context, kind })),
              (found) => {
                if (found === undefined) return Effect.succeed(text)
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
            judge: ({ text, tool }) =>
              Effect.map(
                forOwner((context) => after(text, { ...context, tool })),
                verdictOf
              )
          })
        })
  })

/** What is thrown is a defect: the message is refused, or the run ends, because the text was not read. */
const forOwner = <A>(ask: (context: GuardContext) => Promise<A>): Effect.Effect<A, never, Principal> =>
  Effect.flatMap(Principal, ({ ownerId }) => Effect.promise((signal) => ask({ owner: ownerId, signal })))

const verdictOf = (found: string | { readonly stop: string } | { readonly replace: string } | undefined): Verdict => {
  if (found === undefined) return { _tag: "Pass" }
  if (typeof found === "string") return { _tag: "Change", text: found }
  return "stop" in found ? { _tag: "Stop", reason: found.stop } : { _tag: "Replace", text: found.replace }
}

/** `LiveTurn.rewriting` for plain code: what tools and parts call before they keep or tell a text that they have found. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"

export type PlainRewrite = (text: string) => Promise<string>

export const plainRewrite =
  ({ rewriting }: Pick<LiveTurn, "rewriting">, context: Context.Context<Principal>): PlainRewrite =>
  (text) =>
    rewriting === null ? Promise.resolve(text) : Effect.runPromiseWith(context)(rewriting.rewrite(text))

/**
 * Which words of a typed question are texts. Texts pass the parts of the turn that rewrite: every string of the state, of the instructions,
 * and of what the criteria say. Names stay, because the answer refers to them: of questions, of options, and of fields.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { Rewrite } from "../turns/Rewrite.ts"
import type { TurnPart } from "../turns/TurnPart.ts"
import { checkTypedAsk, isList } from "./CheckQuestions.ts"

type RewriteOptions = NonNullable<TurnPart<unknown>["rewriteOptions"]>

/** Malformed options are left to the steps that refuse them, and so is what is malformed afterwards: instructions without a word. */
export const rewriteOptions: RewriteOptions = (options, rewrite) => {
  const asked = checkTypedAsk(options)
  if (Result.isFailure(asked)) return Effect.succeed(options)
  const { questions, state } = asked.success
  return Effect.all({
    questions: eachField(questions, ({ criteria = null, instructions, ...names }) =>
      Effect.map(rewriteStrings({ instructions, criteria }, rewrite), (texts) => Object.assign({}, names, texts))
    ),
    state: rewriteStrings(state, rewrite)
  })
}

const rewriteStrings = (value: Schema.Json, rewrite: Rewrite): ReturnType<RewriteOptions> => {
  if (typeof value === "string") return rewrite(value)
  if (typeof value !== "object" || value === null) return Effect.succeed(value)
  return isList(value)
    ? Effect.forEach(value, (each) => rewriteStrings(each, rewrite))
    : eachField(value, (field) => rewriteStrings(field, rewrite))
}

/** Made from entries, because a field may be called "__proto__". */
const eachField = <A, E, R>(
  fields: { readonly [name: string]: A },
  change: (field: A) => Effect.Effect<Schema.Json, E, R>
): Effect.Effect<Schema.JsonObject, E, R> =>
  Effect.map(
    Effect.forEach(Object.entries(fields), ([name, field]) =>
      Effect.map(change(field), (changed) => [name, changed] as const)
    ),
    (entries) => Object.fromEntries(entries)
  )

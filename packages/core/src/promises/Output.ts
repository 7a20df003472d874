/**
 * Objects instead of text, without Effect: `send({ content, output: z.object({ … }) })`. The schema of a library becomes the JSON Schema that
 * the model is held to; what comes back is checked by the library once more, so that its own rules and conversions apply.
 */
import type * as Schema from "effect/Schema"
import type { StandardSchemaV1 } from "effect/StandardSchema"
import { uncheckedKeywords } from "../tools/SchemaKeywords.ts"
import { linearPattern } from "../tools/LinearPattern.ts"
import { outputIn, outputsPartName } from "../turns/WantedOutput.ts"
import type { FailedReply, GoodReply, Reply } from "./Reply.ts"
import type { SendRequest } from "./Requests.ts"
import { type DescribedSchema, readSchema } from "./ToolParameters.ts"
import * as Option from "effect/Option"

/** A zod schema, a valibot schema in `toStandardJsonSchema`, an Effect schema, or JSON Schema (draft 2020-12). */
export type OutputSchema = DescribedSchema | Schema.Codec<unknown, unknown> | Schema.JsonObject

/** The type of the values of a schema. */
export type OutputOf<Wanted> =
  Wanted extends Schema.Codec<infer Type, unknown>
    ? Type
    : Wanted extends DescribedSchema<infer _, infer Output>
      ? Output
      : Schema.Json

/** The fields of a message whose answer is to be an object. */
export interface WantedOutput<Wanted> {
  readonly output: Wanted
  /** What the object is, for providers that want a name. */
  readonly outputName?: string
}

/** A reply with the object that was asked for. */
export interface CompletedReply<Output> extends GoodReply {
  readonly status: "COMPLETED"
  /** Fits the schema of the message. */
  readonly output: Output
}

/** `REQUIRES_ACTION` and `CANCELLED`. */
export interface UnfinishedReply extends GoodReply {
  readonly status: Exclude<GoodReply["status"], "COMPLETED">
  readonly output: null
}

/** A reply that did not fail; only a completed one has its object. */
export type GoodOutputReply<Output> = CompletedReply<Output> | UnfinishedReply
/** Every reply to a message that asks for an object. */
export type OutputReply<Output> = GoodOutputReply<Output> | (FailedReply & { readonly output: null })

/** A message with the schema as an option of the part that asks for it, and what is done with the reply. */
export interface ReadOutput {
  readonly request: SendRequest
  readonly finish: (reply: Reply) => Promise<Reply>
}

const asItIs = (reply: Reply): Promise<Reply> => Promise.resolve(reply)

export const readOutput = (given: SendRequest & Partial<WantedOutput<OutputSchema>>): ReadOutput => {
  if (given.output === undefined) return { request: given, finish: asItIs }
  const { output: wanted, outputName, ...request } = given
  const { isChecked, jsonSchema, validate } = readSchema(wanted)
  // A copy: the host may change its object before the answer is there.
  const schema = isChecked ? structuredClone(jsonSchema) : withoutUnchecked(jsonSchema)
  const asked = { schema, ...(outputName === undefined ? {} : { name: outputName }) }
  return {
    request: { ...request, options: Object.assign({}, request.options, { [outputsPartName]: asked }) },
    finish: async (reply) => {
      const kept = reply.status === "COMPLETED" ? outputIn(reply.supplements[outputsPartName]) : null
      if (kept === null) return withOutput(reply, null)
      const checked = await validate(kept.value)
      return checked.issues === undefined ? withOutput(reply, checked.value) : refused(reply, checked.issues)
    }
  }
}

const withOutput = <Kind extends Reply>(reply: Kind, output: unknown): Kind => Object.assign({}, reply, { output })

/** A rule of the library that JSON Schema cannot say. The answer is stored; the caller gets it as one that failed. */
const refused = (reply: Reply, issues: ReadonlyArray<StandardSchemaV1.Issue>): Reply => {
  const problems = issues.map(({ message, path = [] }) => ({
    path: path.map((segment) => String(typeof segment === "object" ? segment.key : segment)),
    message
  }))
  const fault = {
    code: "output_invalid",
    message: "The model's answer does not keep a rule of the schema. Send the message again.",
    retryable: true,
    detail: { problems }
  }
  return withOutput({ ...reply, status: "FAILED", fault }, null)
}

/** Libraries write some rules in a form that the kernel does not check. They check those rules themselves afterwards. */
const withoutUnchecked = (schema: Schema.Json): Schema.Json => {
  if (Array.isArray(schema)) return schema.map(withoutUnchecked)
  if (typeof schema !== "object" || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) => {
      if (uncheckedKeywords.has(name)) return []
      if (name === "pattern" && typeof value === "string" && Option.isNone(linearPattern(value))) return []
      return [[name, withoutUnchecked(value)] as const]
    })
  )
}

/**
 * Answers that are one JSON value of a schema (`TurnRequest.options.outputs`). The model is asked for it in the way that its provider has,
 * else in words; what it writes is checked against the schema in every case. An answer that does not fit is asked for once more, with its
 * problems in words. A second one that does not fit fails the run.
 *
 * While the answer is written, live readers are told what is complete of it so far.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TokenCounter } from "../models/TokenCounter.ts"
import { type CheckedSchema, checkedSchema } from "../tools/CheckedSchema.ts"
import type { SchemaProblem } from "../tools/SchemaRun.ts"
import { TurnRefused } from "../turns/TurnErrors.ts"
import type { TurnCase, TurnPart } from "../turns/TurnPart.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { type KeptOutput, outputsPartName, type OutputVerdict } from "../turns/WantedOutput.ts"
import { instruction, jsonIn, objectSchema, repairRequest, unwrapped } from "./OutputText.ts"
import { PartialJson } from "./PartialJson.ts"

/** The options of a message for this part. */
const AskedOutput = Schema.Struct({
  schema: Schema.Json,
  /** What the value is, for providers that want a name. */
  name: Schema.optionalKey(Schema.String)
})

const OutputPlan = Schema.Struct({ schema: Schema.Json, name: Schema.String })
type OutputPlan = typeof OutputPlan.Type

const Name = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/))

const read = Schema.decodeUnknownOption(AskedOutput)
const isName = Schema.is(Name)

const planOutput = ({ options, request }: TurnCase): Effect.Effect<OutputPlan | null, TurnRefused> => {
  if (options === undefined || request.sendToModel === false) return Effect.succeed(null)
  const asked = Option.getOrNull(read(options))
  if (asked === null) return refuse([{ path: ["schema"], message: "Give a JSON Schema." }])
  const { name = "output", schema } = asked
  const checked = readOnce(schema)
  const problems = Result.isFailure(checked)
    ? checked.failure.map(({ message, path }) => ({ path: ["schema", ...path], message }))
    : []
  const all = isName(name)
    ? problems
    : [...problems, { path: ["name"], message: "A name has 1 to 64 letters, digits, underscores and hyphens." }]
  if (all.length > 0) return refuse(all)
  if (request.jsonOutput === true)
    return refuse([{ path: [], message: "A message takes a schema or json_output, not both." }])
  return Effect.succeed({ schema, name })
}

/** A schema is read when a message is refused, when it is decided, and when its answer is checked. The plan has the schema of the message. */
const readOnce = (schema: Schema.Json): ReturnType<typeof checkedSchema> => {
  if (typeof schema !== "object" || schema === null) return checkedSchema(schema)
  const checked = known.get(schema) ?? checkedSchema(schema)
  known.set(schema, checked)
  return checked
}
const known = new WeakMap<object, ReturnType<typeof checkedSchema>>()

const refuse = (problems: ReadonlyArray<SchemaProblem>) =>
  Effect.fail(new TurnRefused({ part: outputsPartName, reason: "invalid", problems }))

const part = (counter: typeof TokenCounter.Service): TurnPart<OutputPlan> => ({
  name: outputsPartName,
  plan: OutputPlan,
  concerns: ({ options }) => options !== undefined,
  refuse: (turn) => Effect.asVoid(planOutput(turn)),
  decide: (turn) =>
    Effect.map(planOutput(turn), (plan) => plan && { plan, tokens: counter.count(instruction(plan.schema)) }),
  output: ({ name, schema }) => ({
    form: { name, schema: objectSchema(schema) },
    instruction: instruction(objectSchema(schema)),
    check: (text, { isNative, isRepair }) => {
      const written = Option.map(jsonIn(text), (json) => unwrapped(schema, json))
      if (Option.isNone(written)) return unfit([{ path: [], message: "is no JSON" }], isRepair)
      const problems = Result.match(readOnce(schema), {
        // Another version of the kernel has taken this schema.
        onFailure: (found) => found,
        onSuccess: ({ findProblems }: CheckedSchema) => findProblems(written.value)
      })
      if (problems.length > 0) return unfit(problems, isRepair)
      const method = isRepair ? "repaired" : isNative ? "native" : "instructed"
      return { _tag: "Fits", keep: { value: written.value, method } satisfies KeptOutput }
    }
  }),
  speak: ({ schema }, turn, words) => {
    const partial = new PartialJson()
    let length = 0
    let toldAt = 0
    return Stream.runForEach(words, (piece) =>
      Effect.sync(() => {
        length += piece.length
        partial.push(piece)
        // Each event holds all of the object, so a long object is told in larger steps: all events together are in line with its length.
        if (partial.value === undefined || length - toldAt < length / largestShare) return
        toldAt = length
        // The object goes on growing, and the event must not.
        const value = structuredClone(unwrapped(schema, partial.value))
        turn.tell({ type: "output_streaming", data: { partial: value }, isLive: true })
      })
    )
  }
})

/** An object is told again when it has grown by this share of its text. */
const largestShare = 32

const unfit = (problems: ReadonlyArray<SchemaProblem>, isRepair: boolean): OutputVerdict => {
  if (!isRepair) return { _tag: "Repair", words: repairRequest(problems) }
  return {
    _tag: "Unusable",
    keep: { value: null, method: "repaired" } satisfies KeptOutput,
    fault: {
      code: "output_invalid",
      message:
        "The model's answer does not fit the schema, also after it was told why. Send the message again, or make the schema simpler.",
      retryable: true,
      detail: { problems: problems.map(({ message, path }) => ({ path, message })) }
    }
  }
}

const layer = (): Layer.Layer<never, never, TurnParts> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const parts = yield* TurnParts
      yield* parts.register(part(yield* TokenCounter))
    })
  )

/** Joins the turns of a kernel: a layer over `Kernel.layer`. It has no settings. */
export const Outputs = { layer }

/** Callers in plain JavaScript may give any value: what would be stored, or sent to a model, is checked when it is given. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { Assistant } from "../assistants/Assistant.ts"
import { Routing, Thinking } from "../models/ChatRequest.ts"
import { ModelOptions } from "../models/ModelOptions.ts"
import { readerFor } from "../primitives/ReadGiven.ts"
import { Metadata } from "../threads/Thread.ts"
import type { BusyPolicy } from "../turns/TurnRequest.ts"

/** Every problem goes into one `TypeError`. Fields that the schema does not have are not looked at. */
const checkerFor = <Fields extends Schema.Struct.Fields>(fields: Fields) => {
  const read = readerFor(Schema.toType(Schema.Struct(Struct.map(fields, Schema.optional))), "ignore")
  return (given: object): void => {
    const found = read(given)
    if (Result.isSuccess(found)) return
    throw new TypeError(found.failure.map(({ message, path }) => `\`${path.join(".")}\`: ${message}.`).join(" "))
  }
}

const { createdAt: _, embedding, id: __, updatedAt: ___, version: ____, ...assistantFields } = Assistant.fields

/** An assistant to make, or what changes of one. */
export const checkAssistant = checkerFor({
  ...assistantFields,
  embedding: Schema.Struct(Struct.map(embedding.fields, Schema.optional))
})

const busyPolicies: ReadonlyArray<BusyPolicy> = ["enqueue", "reject", "interrupt"]

/** Fields of a message that have rules of their own. */
export const checkMessage = checkerFor({
  busy: Schema.Literals(busyPolicies),
  metadata: Metadata,
  modelOptions: ModelOptions,
  routing: Routing,
  thinking: Thinking
})

export const checkThread = checkerFor({ metadata: Schema.NullOr(Metadata) })

/**
 * A hosted tool from a plain function: typed arguments, a value or a promise as its result, an `AbortSignal`. It adds three things to a
 * `HostedTool` and hides nothing of it: arguments are checked before the function runs, a call with bad ones goes back to the model in
 * words, and the function needs no Effect. For hosts, with Effect and without.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { StandardSchemaV1 } from "effect/StandardSchema"
import { Principal } from "../access/Principal.ts"
import { type HostedCall, type HostedTool, HostedToolFailed } from "../tools/HostedTool.ts"
import { ToolName } from "../tools/ToolDefinition.ts"
import { type ArgumentsOf, readParameters, type ToolParameters } from "./ToolParameters.ts"

/** For whom and where a tool runs. */
export interface ToolContext extends Omit<HostedCall, "journal" | "ensureCredit"> {
  readonly owner: string
  /** Aborted when the run is cancelled, when the tool's time is over, and when the kernel closes. */
  readonly signal: AbortSignal
}

export interface ToolOptions<Parameters extends ToolParameters> extends Omit<HostedTool, "definition" | "run"> {
  /** 1 to 64 characters of A-Z, a-z, 0-9, `_` and `-`. */
  readonly name: string
  readonly description: string
  /**
   * zod as it is, valibot in `toStandardJsonSchema`, an Effect schema as it is, or JSON Schema (draft 2020-12). JSON Schema is checked
   * too; a keyword for which Effect has no check (`not`, `if`, `dependentRequired`, …) is refused when the tool is made.
   */
  readonly parameters: Parameters
  /** Asks the provider to keep to the schema, where it can. */
  readonly strict?: boolean
  /**
   * Text goes to the model as it is, nothing as `null`, everything else as JSON. Throw `HostedToolFailed` to tell the model what went
   * wrong. Of any other error the model learns only that the tool failed; the error is logged.
   */
  readonly execute: (args: ArgumentsOf<Parameters>, context: ToolContext) => unknown
}

export const tool = <Parameters extends ToolParameters>(options: ToolOptions<Parameters>): HostedTool => {
  const { description, execute, name, parameters, strict, ...rest } = options
  if (!isToolName(name))
    throw new TypeError(`"${name}" is no name for a tool: it has 1 to 64 characters of A-Z, a-z, 0-9, _ and -.`)
  const { check, jsonSchema } = readParameters(parameters)
  return {
    ...rest,
    definition: { name, description, parameters: jsonSchema, ...(strict === undefined ? {} : { strict }) },
    run: (args, call) => {
      const answer = async (owner: string, signal: AbortSignal) => {
        const checked = await check(args)
        if (checked.issues !== undefined) throw badCall(checked.issues)
        const { ensureCredit: _ensureCredit, journal: _journal, ...turn } = call
        return textOf(await execute(checked.value, { ...turn, owner, signal }))
      }
      return Effect.flatMap(Principal, ({ ownerId }) =>
        Effect.flatten(Effect.promise((signal) => answer(ownerId, signal).then(Effect.succeed, meantForTheModel)))
      )
    }
  }
}

/** Any other error is a defect of the tool. */
const meantForTheModel = (error: unknown): Effect.Effect<never, HostedToolFailed> => {
  if (error instanceof HostedToolFailed) return Effect.fail(error)
  throw error
}

const isToolName: (name: string) => boolean = Schema.is(ToolName)

const textOf = (result: unknown): string => {
  const text: unknown = typeof result === "string" ? result : JSON.stringify(result ?? null)
  if (typeof text === "string") return text
  throw new TypeError("The tool returned a function or a symbol, which is no JSON.")
}

/** Every problem with its place, so that one more call is enough. */
const badCall = (issues: ReadonlyArray<StandardSchemaV1.Issue>): HostedToolFailed => {
  const problems = issues.map(({ message, path }) => `- ${placeOf(path ?? [])}: ${message}`)
  return new HostedToolFailed({
    message: [
      "the arguments do not fit, and the tool was not run.",
      ...problems,
      "Call it again with all of these corrected."
    ].join("\n")
  })
}

/** `list[0].name`, as a program would write it. */
const placeOf = (path: NonNullable<StandardSchemaV1.Issue["path"]>): string =>
  path.reduce<string>((place, segment) => {
    const key = typeof segment === "object" ? segment.key : segment
    if (typeof key === "number") return `${place}[${key}]`
    return place === "" ? String(key) : `${place}.${String(key)}`
  }, "") || "(the whole object)"

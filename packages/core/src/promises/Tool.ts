/**
 * A hosted tool from a plain function: typed arguments, a value or a promise as its result, an `AbortSignal`. It adds three things to a
 * `HostedTool`: arguments are checked before the function runs, a call with invalid arguments returns to the model with an explanation, and
 * the function needs no Effect. For hosts with and without Effect.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { StandardSchemaV1 } from "effect/StandardSchema"
import { Principal } from "../access/Principal.ts"
import { argumentCheck } from "../tools/ArgumentCheck.ts"
import { type HostedCall, type HostedTool, HostedToolFailed, PersonAsked } from "../tools/HostedTool.ts"
import { ToolName } from "../tools/ToolDefinition.ts"
import { type PlainRewrite, plainRewrite } from "./PlainRewrite.ts"
import { type ArgumentsOf, type ReadParameters, readParameters, type ToolParameters } from "./ToolParameters.ts"

/** The owner and the turn for which a tool runs. */
export interface ToolContext extends Omit<HostedCall, "beginCharge" | "journal" | "ensureCredit" | "rewriting"> {
  readonly owner: string
  /**
   * What the guards of the turn make of a text. Give it what the tool has found before you keep or tell it. The output of the tool is
   * rewritten without that, unless it is a text that came out of it.
   */
  readonly rewrite: PlainRewrite
  /** Aborted when the run is cancelled, when the tool's time limit expires, and when the kernel closes. */
  readonly signal: AbortSignal
}

/** The name, the parameters and the code of a tool that runs on the server. */
export interface ToolOptions<Parameters extends ToolParameters> extends Omit<
  HostedTool,
  "check" | "checkAnswer" | "definition" | "needsApproval" | "run"
> {
  /** 1 to 64 characters of A-Z, a-z, 0-9, `_` and `-`. */
  readonly name: string
  readonly description: string
  /**
   * A zod schema, a valibot schema in `toStandardJsonSchema`, an Effect schema, or JSON Schema (draft 2020-12). Arguments are checked
   * against JSON Schema too; a keyword that is not checked (`not`, `if`, `dependentRequired`, …) is refused when the tool is made.
   */
  readonly parameters: Parameters
  /** Asks the provider to enforce the schema, if it can. */
  readonly strict?: boolean
  /**
   * True, or a function that says it of one call: the call waits until a person approves it (`approvals`). A function that throws makes the
   * call wait.
   */
  readonly needsApproval?:
    | boolean
    | ((args: ArgumentsOf<Parameters>, context: Omit<ToolContext, "signal">) => boolean | Promise<boolean>)
  /**
   * A text goes to the model unchanged, nothing as `null`, any other value as JSON. Throw `HostedToolFailed` to tell the model what failed,
   * and `PersonAsked` to ask a person: the tool is called again with `context.answer`. For any other error the model only learns that the tool failed; the error is logged.
   */
  readonly execute: (args: ArgumentsOf<Parameters>, context: ToolContext) => unknown
}

export const tool = <Parameters extends ToolParameters>(options: ToolOptions<Parameters>): HostedTool => {
  const { description, execute, name, needsApproval = false, parameters, strict, ...rest } = options
  if (!isToolName(name))
    throw new TypeError(`"${name}" is not a valid tool name. Use 1 to 64 characters of A-Z, a-z, 0-9, _ and -.`)
  const { check, jsonSchema } = readParameters(parameters)
  return {
    ...rest,
    definition: { name, description, parameters: jsonSchema, ...(strict === undefined ? {} : { strict }) },
    ...(needsApproval === false
      ? {}
      : { needsApproval: needsApproval === true ? needsApproval : condition(check, needsApproval) }),
    check: (args) =>
      Effect.map(
        Effect.promise(async () => check(args)),
        ({ issues = [] }) => issues.map(({ message, path = [] }) => ({ path: path.map(segmentKey), message }))
      ),
    checkAnswer: (schema, answer) => argumentCheck(schema)(answer),
    run: (args, call) => {
      const result = async (turn: Omit<ToolContext, "signal">, signal: AbortSignal) => {
        const checked = await check(args)
        if (checked.issues !== undefined) throw badCall(checked.issues)
        return resultText(await execute(checked.value, { ...turn, signal }))
      }
      return Effect.flatMap(plainTurn(call), (turn) =>
        Effect.flatten(Effect.promise((signal) => result(turn, signal).then(Effect.succeed, failureForModel)))
      )
    }
  }
}

const plainTurn = (call: HostedCall): Effect.Effect<Omit<ToolContext, "signal">, never, Principal> =>
  Effect.map(Effect.context<Principal>(), (context) => {
    const { beginCharge: _beginCharge, ensureCredit: _ensureCredit, journal: _journal, rewriting: _, ...turn } = call
    return { ...turn, owner: Context.get(context, Principal).ownerId, rewrite: plainRewrite(call, context) }
  })

/** A call whose arguments do not fit is refused by `check` before the function is asked. */
const condition =
  <Arguments>(
    check: ReadParameters<Arguments>["check"],
    needs: (args: Arguments, context: Omit<ToolContext, "signal">) => boolean | Promise<boolean>
  ): NonNullable<HostedTool["needsApproval"]> =>
  (args, call) =>
    Effect.flatMap(plainTurn(call), (turn) =>
      Effect.promise(async () => {
        const checked = await check(args)
        return checked.issues !== undefined || (await needs(checked.value, turn))
      })
    )

/** `HostedToolFailed` goes to the model, `PersonAsked` to a person. Any other error is a defect of the tool. */
const failureForModel = (error: unknown): Effect.Effect<never, HostedToolFailed | PersonAsked> => {
  if (error instanceof HostedToolFailed || error instanceof PersonAsked) return Effect.fail(error)
  throw error
}

const isToolName: (name: string) => boolean = Schema.is(ToolName)

const resultText = (result: unknown): string => {
  const text: unknown = typeof result === "string" ? result : JSON.stringify(result ?? null)
  if (typeof text === "string") return text
  throw new TypeError("The tool returned a function or a symbol. Return a text or a JSON value.")
}

/** Lists every problem with its path, so that the model can correct all of them in one call. */
const badCall = (issues: ReadonlyArray<StandardSchemaV1.Issue>): HostedToolFailed => {
  const problems = issues.map(({ message, path }) => `- ${issuePath(path ?? [])}: ${message}`)
  return new HostedToolFailed({
    message: [
      "the arguments do not fit, and the tool was not run.",
      ...problems,
      "Call it again with all of these corrected."
    ].join("\n")
  })
}

const segmentKey = (segment: PropertyKey | StandardSchemaV1.PathSegment): string | number => {
  const key = typeof segment === "object" ? segment.key : segment
  return typeof key === "number" ? key : String(key)
}

/** Like `list[0].name`. */
const issuePath = (path: NonNullable<StandardSchemaV1.Issue["path"]>): string =>
  path.map(segmentKey).reduce<string>((written, key) => {
    if (typeof key === "number") return `${written}[${key}]`
    return written === "" ? key : `${written}.${key}`
  }, "") || "(the whole object)"

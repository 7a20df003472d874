/**
 * Runs the calls of one model step that the kernel answers itself: hosted tools, in parallel, each with a timeout. Every failure becomes a
 * result text for the model, so that the model can go on. A run never fails because of a tool.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { genAi } from "../primitives/GenAi.ts"
import { traced } from "../primitives/Traced.ts"
import type { Principal } from "../access/Principal.ts"
import { annotateContent } from "../models/SpanContent.ts"
import { cutTo } from "../models/ReportedFigures.ts"
import { Deadlines } from "../primitives/Deadlines.ts"
import { type ArgumentProblem, type HostedCall, type HostedTool, PersonAsked } from "../tools/HostedTool.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import type { OfferedTool } from "./Leg.ts"
import { TurnSettings } from "./TurnSettings.ts"

/**
 * The one who answers a call: the client; a tool that the kernel runs; or a refusal text of the kernel, when no tool of that name can be
 * run.
 */
export type CallAnswerer =
  | { readonly _tag: "Client" }
  | { readonly _tag: "Hosted"; readonly tool: HostedTool; readonly part: string; readonly args: Schema.JsonObject }
  | { readonly _tag: "Refused"; readonly output: string }

export const findAnswerer = (
  call: ToolCall,
  clientTools: ReadonlySet<string>,
  hosted: ReadonlyMap<string, OfferedTool>,
  /** False when the permitted rounds of hosted tools are used up. */
  mayRun: boolean
): CallAnswerer => {
  const offered = hosted.get(call.name)
  if (offered === undefined && !clientTools.has(call.name)) {
    return { _tag: "Refused", output: `Error: there is no tool named "${call.name}".` }
  }
  const args = parseArguments(call.arguments)
  if (Option.isNone(args)) {
    return {
      _tag: "Refused",
      output: "Error: the arguments are not a JSON object. Call the tool again with valid JSON."
    }
  }
  if (offered === undefined) return { _tag: "Client" }
  if (!mayRun)
    return { _tag: "Refused", output: "Error: not run, because too many tools were called. Answer in words." }
  return { _tag: "Hosted", ...offered, args: args.value }
}

type HostedAnswerer = Extract<CallAnswerer, { readonly _tag: "Hosted" }>

const approval = { _tag: "Approval" } as const

export class HostedCalls extends Context.Service<
  HostedCalls,
  {
    /**
     * Asks the tool whether this call waits for an approval. A tool that cannot say it does not run without one. Arguments that the tool
     * refuses are told to the model, and nobody is asked to approve them.
     */
    readonly needsApproval: (
      by: HostedAnswerer,
      call: HostedCall
    ) => Effect.Effect<Exclude<CallAnswerer, { readonly _tag: "Client" }> | typeof approval, never, Principal>
    /** Runs one hosted call and returns its result text, or what it asks a person before it can have one. */
    readonly run: (
      by: Pick<HostedAnswerer, "args" | "tool">,
      call: HostedCall
    ) => Effect.Effect<string | PersonAsked, never, Principal>
  }
>()("@colloquy/core/turns/HostedCalls") {
  static readonly layer: Layer.Layer<HostedCalls, never, Deadlines> = Layer.effect(
    HostedCalls,
    Effect.gen(function* () {
      const { within } = yield* Deadlines
      const { hostedToolTimeout, maxToolResult } = yield* TurnSettings

      /** The time limit of one call. */
      const callTimeout = ({ timeout }: HostedTool, args: Schema.JsonObject): Duration.Duration =>
        Duration.fromInputUnsafe((typeof timeout === "function" ? timeout(args) : timeout) ?? hostedToolTimeout)

      return HostedCalls.of({
        needsApproval: (by, call) => {
          const { args, tool } = by
          const { needsApproval } = tool
          if (needsApproval === undefined) return Effect.succeed(by)
          const decided = Effect.gen(function* () {
            const problems = tool.check === undefined ? [] : yield* tool.check(args)
            if (problems.length > 0) return refused(badArguments(problems))
            return typeof needsApproval !== "function" || (yield* needsApproval(args, call)) ? approval : by
          })
          const late = () => Effect.succeed(approval)
          return Effect.suspend(() => within(callTimeout(tool, args), decided, late)).pipe(
            Effect.catchTag("HostedToolFailed", ({ message }) =>
              Effect.map(rewriteOutput(call, `Error: ${message}`), refused)
            ),
            Effect.catchCause((cause) =>
              Effect.as(
                Effect.logError(`${tool.definition.name} could not say whether it needs an approval`, cause),
                approval
              )
            )
          )
        },

        run: ({ args, tool }, call) => {
          const result = Effect.suspend(() => tool.run(args, call)).pipe(
            Effect.map(asText),
            Effect.catchTag("PersonAsked", (question) => Effect.succeed(question))
          )
          const ran = Effect.suspend(() => {
            const time = callTimeout(tool, args)
            const late = () => Effect.succeed(`Error: the tool did not answer within ${Duration.format(time)}.`)
            return within(time, result, late)
          }).pipe(
            Effect.catchTag("HostedToolFailed", (failed) => Effect.succeed(`Error: ${failed.message}`)),
            // An interruption of the whole run does not reach this handler. An interruption that reaches it was made by the tool itself.
            Effect.catchCause((cause) =>
              Effect.as(
                Effect.logError(`The hosted tool ${tool.definition.name} has a defect`, cause),
                "Error: the tool failed inside the server. Answer without it."
              )
            )
          )
          return Effect.flatMap(ran, (found) =>
            typeof found === "string" ? rewriteOutput(call, found) : rewriteQuestion(call, found)
          ).pipe(
            Effect.flatMap((whole) => {
              // A part that rewrites has to see what lies across the limit.
              const output = typeof whole === "string" ? cutTo(whole, maxToolResult) : whole
              const attributes = () => ({
                [genAi.toolArguments]: JSON.stringify(args),
                ...(output instanceof PersonAsked ? {} : { [genAi.toolResult]: output })
              })
              return Effect.as(annotateContent(attributes), output)
            }),
            traced(`execute_tool ${tool.definition.name}`, {
              attributes: {
                [genAi.operation]: "execute_tool",
                [genAi.toolName]: tool.definition.name,
                [genAi.toolType]: "function",
                [genAi.toolCallId]: call.toolCallId
              }
            })
          )
        }
      })
    })
  )
}

const refused = (output: string): CallAnswerer & { readonly _tag: "Refused" } => ({ _tag: "Refused", output })

/** Lists every problem with its place, so that the model can correct all of them in one call. */
const badArguments = (problems: ReadonlyArray<ArgumentProblem>): string =>
  [
    "Error: the arguments do not fit, and the tool was not run.",
    ...problems.map(
      ({ message, path }) => `- ${path.length === 0 ? "(the whole object)" : path.join(".")}: ${message}`
    ),
    "Call it again with all of these corrected."
  ].join("\n")

const parseArguments = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.JsonObject))

/** A tool that is written without types may give what is no JSON. */
const asText = (output: unknown): string => {
  const text: unknown = typeof output === "string" ? output : JSON.stringify(output)
  if (typeof text !== "string") throw new TypeError("The tool gave something that is no JSON")
  return text
}

/** An output that a part could not rewrite is withheld from the model. */
const rewriteOutput = ({ rewriting }: HostedCall, output: string): Effect.Effect<string, never, Principal> =>
  rewriting === null
    ? Effect.succeed(output)
    : Effect.catchTag(rewriting.rewrite(output), "TextWithheld", () => Effect.succeed(withheld))

/** The form of a question and what its tool keeps with it stay as the tool needs them. */
const rewriteQuestion = (call: HostedCall, asked: PersonAsked): Effect.Effect<string | PersonAsked, never, Principal> =>
  Effect.map(rewriteOutput(call, asked.message), (message) =>
    message === withheld ? message : new PersonAsked({ message, schema: asked.schema, state: asked.state })
  )

const withheld = "Error: the output of this tool could not be checked and is withheld. Answer without it."

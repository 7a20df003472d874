/**
 * Tools that run inside the kernel's loop instead of at the client: a definition with an Effect handler. A host registers its own through
 * `HostedTools`; parts of a turn offer theirs. If a handler fails, hangs or gets malformed arguments, the model gets a result text, and the
 * run does not fail.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId } from "../primitives/Ids.ts"
import type { LiveTurn } from "./LiveTurn.ts"
import { Question } from "./ToolCall.ts"
import type { ToolDefinition } from "./ToolDefinition.ts"

/** What the host's own tools tell and keep stands under this name, where that of a part would stand. */
export const hostToolsName = "tools"

/** What a person answered to the question of a tool. */
export interface PersonsAnswer {
  /** `cancel`: nobody answered in time. */
  readonly action: "accept" | "decline" | "cancel"
  /** It fits the schema of the question. Empty unless accepted. */
  readonly content: Schema.JsonObject
  /** That of the question. */
  readonly state: Schema.Json
}

/** One call of a hosted tool, with the turn that it belongs to. */
export interface HostedCall extends LiveTurn {
  readonly toolCallId: string
  /** Set when the tool has asked a person (`PersonAsked`) and is called again with what became of the question. */
  readonly answer?: PersonsAnswer
}

/** What a hosted tool knows of a turn when it decides whether to be offered. */
export interface OfferedIn {
  readonly assistantId: AssistantId
  /** The provider of the turn's model. */
  readonly provider: string
  /** The window of the turn's model in tokens; null: not known. */
  readonly contextLimit: number | null
  readonly metadata: Schema.JsonObject | null
  /** The client wants a JSON object. It gets one only if no tool is offered. */
  readonly jsonOutput: boolean
}

/** The text goes to the model: say what happened and what the model may do instead. */
export class HostedToolFailed extends Schema.TaggedError<HostedToolFailed>()("HostedToolFailed", {
  message: Schema.String
}) {}

/**
 * The tool asks a person before it can go on. The run waits as for an approval, for days, over restarts; then the tool is called again, with
 * the same arguments and the answer. What it has done before it asked, it must not do again.
 */
export class PersonAsked extends Schema.TaggedError<PersonAsked>()("PersonAsked", Question.fields) {}

/** `path` leads to the value inside the arguments; empty: the whole object. */
export interface ArgumentProblem {
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

export interface HostedTool {
  readonly definition: ToolDefinition
  /** Gets the parsed arguments. The result goes to the model: text unchanged, other values as JSON. */
  readonly run: (
    args: Schema.JsonObject,
    call: HostedCall
  ) => Effect.Effect<Schema.Json, HostedToolFailed | PersonAsked, Principal>
  /**
   * Which calls wait until a person approves them. A function that fails refuses the arguments, with a text for the model; one with a defect
   * makes the call wait. Absent: no call waits. A voice session does not run calls that would have to wait.
   */
  readonly needsApproval?:
    | true
    | ((args: Schema.JsonObject, call: HostedCall) => Effect.Effect<boolean, HostedToolFailed, Principal>)
  /** Finds what is wrong with arguments, before a person is asked to approve them and when that person changes them. Absent: `run` finds it. */
  readonly check?: (args: Schema.JsonObject) => Effect.Effect<ReadonlyArray<ArgumentProblem>>
  /**
   * Finds what is wrong with a person's answer to a question of this tool (`PersonAsked`), by the schema of the question. Absent: `run` finds
   * it. Tools made by `tool` have it.
   */
  readonly checkAnswer?: (
    schema: Schema.JsonObject,
    answer: Schema.JsonObject
  ) => Effect.Effect<ReadonlyArray<ArgumentProblem>>
  /** Absent: offered in every turn. */
  readonly offered?: (turn: OfferedIn) => boolean
  /**
   * True: left out of a turn in which the client, the host or another part has a tool of this name. For tools whose names the host does not
   * choose. Absent: such a turn is refused.
   */
  readonly yields?: boolean
  /** True: the owner chose its name, so a turn with another tool of this name is refused as the request's fault, not the server's. */
  readonly isNamedByOwner?: boolean
  /** True: a call changes nothing but its own turn, so it also runs where tools are answered from a record. */
  readonly staysInTurn?: boolean
  /** The time limit of a call; a function if it depends on the arguments. Absent: the kernel's `hostedToolTimeout`. */
  readonly timeout?: Duration.Input | ((args: Schema.JsonObject) => Duration.Input)
}

/** The tools without those that yield to a name that is taken. */
export const withoutTaken = (
  tools: ReadonlyArray<HostedTool>,
  taken: ReadonlyArray<{ readonly name: string }>
): ReadonlyArray<HostedTool> =>
  tools.filter((tool) => tool.yields !== true || taken.every(({ name }) => name !== tool.definition.name))

/** The tools that do not yield: no other tool may have one of their names. */
export const fixedTools = (tools: ReadonlyArray<HostedTool>): ReadonlyArray<ToolDefinition> =>
  tools.filter((tool) => tool.yields !== true).map(({ definition }) => definition)

/**
 * The host's own tools. Layers add up, in any order: `HostedTools.tools([clock])` over `Kernel.layer`. Two tools with the same name are
 * refused when the kernel is built.
 */
export class HostedTools extends Context.Service<
  HostedTools,
  {
    /** Offered in every turn that begins from now on, until the scope closes. */
    readonly register: (tools: ReadonlyArray<HostedTool>) => Effect.Effect<void, never, Scope.Scope>
    /** In the order of their names, independent of the order of registration. */
    readonly all: () => ReadonlyArray<HostedTool>
  }
>()("@colloquy/core/tools/HostedTools") {
  static readonly layer: Layer.Layer<HostedTools> = Layer.sync(HostedTools, () => {
    let all: ReadonlyArray<HostedTool> = []
    return {
      all: () => all,
      register: (tools) =>
        Effect.acquireRelease(
          Effect.suspend(() => {
            const names = [...all, ...tools].map(({ definition }) => definition.name)
            const twice = names.find((name, index) => names.indexOf(name) !== index)
            if (twice !== undefined) {
              return Effect.die(new Error(`Two hosted tools have the name "${twice}". Register it once.`))
            }
            all = [...all, ...tools].toSorted((a, b) => (a.definition.name < b.definition.name ? -1 : 1))
            return Effect.void
          }),
          () =>
            Effect.sync(() => {
              all = all.filter((tool) => !tools.includes(tool))
            })
        )
    }
  })

  static readonly tools = (tools: ReadonlyArray<HostedTool>): Layer.Layer<never, never, HostedTools> =>
    Layer.effectDiscard(HostedTools.use((registry) => registry.register(tools)))
}

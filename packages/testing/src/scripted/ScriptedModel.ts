/**
 * A chat model that plays a script, for tests of conversations without a network and without randomness. The test fails, when its scope closes, if
 * the model was called more often than the script has steps, if a step was not played, or if a check has thrown.
 */
import { type ModelInfo, type Provider, Providers } from "@colloquy/core"
import { type ChatDriver, type ChatEvent, type ChatRequest, ModelError, noUsage } from "@colloquy/core/adapters"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Beat, ScriptStep } from "./Script.ts"

/** The id of the model, and what it says when its script is over. */
export interface ScriptedOptions {
  /** The provider's id; the default model is `<id>-model`. */
  readonly id?: string
  /** The model's data, for example its `contextLimit`. */
  readonly info?: Partial<ModelInfo>
  /**
   * The step for every call after the end of the script, or a function that chooses it for the request. If it is given, the number of calls may
   * differ from the number of steps.
   */
  readonly otherwise?: ScriptStep | ((request: ChatRequest) => ScriptStep)
  /** True: the provider takes JSON Schemas of answers (`ChatRequest.output`), as OpenAI does. */
  readonly takesSchemas?: boolean
}

export class ScriptedModel extends Context.Service<
  ScriptedModel,
  {
    readonly provider: Provider
    /** All requests to the model, in order. */
    readonly requests: ReadonlyArray<ChatRequest>
    /** How many calls were interrupted before their end. */
    readonly interrupted: () => number
    /** Adds steps to the end of the script. */
    readonly append: (...steps: ReadonlyArray<ScriptStep>) => void
    /** Completes when the model has reached the gate. */
    readonly reached: (name?: string) => Effect.Effect<void>
    /** Opens the gate, also before the model has reached it. */
    readonly release: (name?: string) => Effect.Effect<void>
  }
>()("@colloquy/testing/ScriptedModel") {
  /** A scripted model as the only provider of a kernel. */
  static readonly layer = (
    steps: ReadonlyArray<ScriptStep>,
    options: ScriptedOptions = {}
  ): Layer.Layer<ScriptedModel | Providers> =>
    Layer.unwrap(
      Effect.map(make(steps, options), (model) =>
        Layer.merge(
          Layer.succeed(ScriptedModel, model),
          Providers.layer({
            providers: [model.provider],
            defaults: { provider: model.provider.id, model: `${model.provider.id}-model` }
          })
        )
      )
    )
}

/** A model whose script is checked when its scope closes. */
export const make = (
  steps: ReadonlyArray<ScriptStep>,
  options: ScriptedOptions = {}
): Effect.Effect<typeof ScriptedModel.Service, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => player(steps, options)),
    ({ complaints }) => {
      const found = complaints()
      return found.length === 0 ? Effect.void : Effect.die(new Error(found.join("\n")))
    }
  )

/** Only the provider, for demonstrations: it is not checked that the whole script was played. A call after the last step fails its run. */
export const scripted = (steps: ReadonlyArray<ScriptStep>, options: ScriptedOptions = {}): Provider =>
  player(steps, options).provider

const player = (
  steps: ReadonlyArray<ScriptStep>,
  options: ScriptedOptions
): typeof ScriptedModel.Service & { readonly complaints: () => ReadonlyArray<string> } => {
  const id = options.id ?? "scripted"
  const script = steps.map(toBeats)
  const { otherwise } = options
  const requests: Array<ChatRequest> = []
  const complaints: Array<string> = []
  const gates = new Map<
    string,
    { readonly reached: Deferred.Deferred<void>; readonly released: Deferred.Deferred<void> }
  >()
  let interrupted = 0
  /** Steps of the script. */
  let played = 0

  const gate = (name: string) => {
    const known = gates.get(name) ?? { reached: Deferred.makeUnsafe<void>(), released: Deferred.makeUnsafe<void>() }
    gates.set(name, known)
    return known
  }
  const complain = (text: string): Stream.Stream<never> => {
    complaints.push(text)
    return Stream.die(new Error(text))
  }

  const chat: ChatDriver = (request) =>
    Stream.suspend(() => {
      const step = script[played]
      if (step !== undefined) played++
      const beats = step ?? (otherwise === undefined ? undefined : toBeats(chosen(otherwise, request)))
      requests.push(request)
      if (beats === undefined)
        return complain(`The script has no step ${requests.length}: the model was called more often than that.`)
      const play = new Play(request, requests.length)
      const parts = [...beats, theEnd].map((beat) => Stream.suspend(() => play.beat(beat, gate, complain)))
      return parts.reduce((all, part) => Stream.concat(all, part), Stream.empty as Stream.Stream<ChatEvent, ModelError>)
    }).pipe(
      Stream.onExit((exit) =>
        Effect.sync(() => {
          if (exit._tag === "Failure" && exit.cause.reasons.some((reason) => reason._tag === "Interrupt")) interrupted++
        })
      )
    )

  return {
    provider: {
      id,
      chat,
      describe: () => options.info,
      ...(options.takesSchemas === true ? { wire: ({ apiKey: _, ...request }) => request } : {})
    },
    requests,
    interrupted: () => interrupted,
    append: (...more) => {
      script.push(...more.map(toBeats))
    },
    reached: (name = "gate") => Deferred.await(gate(name).reached),
    release: (name = "gate") => Effect.asVoid(Deferred.succeed(gate(name).released, undefined)),
    complaints: () =>
      played < script.length && otherwise === undefined
        ? [...complaints, `The script has ${script.length} steps, but the model was called ${requests.length} times.`]
        : complaints
  }
}

const chosen = (step: NonNullable<ScriptedOptions["otherwise"]>, request: ChatRequest): ScriptStep =>
  typeof step === "function" ? step(request) : step

const toBeats = (step: ScriptStep): ReadonlyArray<Beat> => ("_tag" in step ? [step] : step.flat())

/** The end of a step whose script has no other end. */
const theEnd: Beat = { _tag: "Finish", reason: "stop", model: null }

type Gate = (name: string) => {
  readonly reached: Deferred.Deferred<void>
  readonly released: Deferred.Deferred<void>
}

/** Plays one step. It counts the deltas and calls of the beats so far, for the usage and the end. */
class Play {
  private readonly request: ChatRequest
  private readonly step: number
  private deltas = 0
  private calls = 0
  private usage: ChatEvent | null = null
  private data: Extract<Beat, { _tag: "ProviderData" }>["data"] | null = null
  private over = false

  constructor(request: ChatRequest, step: number) {
    this.request = request
    this.step = step
  }

  beat(beat: Beat, gate: Gate, complain: (text: string) => Stream.Stream<never>): Stream.Stream<ChatEvent, ModelError> {
    if (this.over) return Stream.empty
    switch (beat._tag) {
      case "Text":
      case "Reasoning":
        this.deltas += beat.deltas.length
        return Stream.fromIterable(beat.deltas.map((text) => ({ _tag: `${beat._tag}Delta` as const, text })))
      case "Media":
      case "Source":
        return Stream.make(beat)
      case "ToolCall":
        return Stream.fromIterable(this.callEvents(beat))
      case "Usage":
        this.usage = { _tag: "Usage", usage: { ...noUsage, ...beat.usage } }
        return Stream.empty
      case "ProviderData":
        this.data = beat.data
        return Stream.empty
      case "Finish":
        this.over = true
        return Stream.fromIterable(this.endEvents(beat))
      case "Fail":
        this.over = true
        return Stream.fail(this.failure(beat))
      case "Cut":
        this.over = true
        return Stream.empty
      case "Hang":
        return Stream.never
      case "Pause":
        return Stream.fromEffectDrain(Effect.sleep(beat.duration))
      case "Gate": {
        const { reached, released } = gate(beat.name)
        return Stream.fromEffectDrain(Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(released)))
      }
      case "Expect":
        try {
          beat.check(this.request)
          return Stream.empty
        } catch (error) {
          return complain(`A check of step ${this.step} failed: ${String(error)}`)
        }
    }
  }

  private callEvents(beat: Extract<Beat, { _tag: "ToolCall" }>): ReadonlyArray<ChatEvent> {
    this.calls++
    const id = beat.id ?? `call_${this.step}_${this.calls}`
    return [
      { _tag: "ToolCallStart", id, name: beat.name },
      { _tag: "ToolCallDelta", id, arguments: beat.arguments },
      { _tag: "ToolCallReady", call: { id, name: beat.name, arguments: beat.arguments === "" ? "{}" : beat.arguments } }
    ]
  }

  private endEvents(beat: Extract<Beat, { _tag: "Finish" }>): ReadonlyArray<ChatEvent> {
    const reason = beat.reason === "stop" && this.calls > 0 ? "tool_calls" : beat.reason
    return [
      this.usage ?? { _tag: "Usage", usage: { ...noUsage, inputTokens: 10, outputTokens: this.deltas } },
      { _tag: "Finished", reason, model: beat.model, providerData: this.data }
    ]
  }

  private failure(beat: Extract<Beat, { _tag: "Fail" }>): ModelError {
    return new ModelError({
      reason: beat.reason,
      provider: this.request.provider,
      model: this.request.model,
      ...(beat.retryAfterMillis === null ? {} : { retryAfterMillis: beat.retryAfterMillis })
    })
  }
}

/**
 * What the stories of this package share: a test over one scripted kernel, further kernels over the same state, and short ways to say
 * what a thread holds and which events were seen.
 */
import { type ScriptStep, TestKernel } from "@colloquy/testing"
import { isTerminal, Principal, type RunId, type ThreadId, Threads, type TurnEvent, Turns } from "@colloquy/core"
import { type LogEvent, RunStore } from "@colloquy/core/adapters"
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"

export type Services = TestKernel.Services

/** A test over one kernel with a scripted model, on behalf of Ada. The script must be followed to its end. */
export const story = <A, E>(
  title: string,
  steps: ReadonlyArray<ScriptStep>,
  body: Effect.Effect<A, E, Services | Principal | Scope.Scope>,
  options: TestKernel.TestKernelOptions = {}
): void =>
  it.effect(title, () => body.pipe(Principal.provide("ada"), Effect.provide([TestKernel.layer(steps, options), quiet])))

/** What the kernel logs about faults that a test makes on purpose. */
export const quiet = Logger.layer([])

export interface OtherKernel {
  readonly run: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, Services>>
  readonly close: Effect.Effect<void>
}

/** A kernel of its own, such as another process over the same state. It lives as long as the test, or until it is closed. */
export const openKernel = Effect.fnUntraced(function* (
  steps: ReadonlyArray<ScriptStep>,
  options: TestKernel.TestKernelOptions = {}
): Effect.fn.Return<OtherKernel, never, Scope.Scope> {
  const scope = yield* Scope.fork(yield* Scope.Scope)
  const services = yield* Layer.buildWithScope(Layer.merge(TestKernel.layer(steps, options), quiet), scope)
  return {
    run: (effect) => Effect.provideContext(effect, services),
    close: Scope.close(scope, Exit.void)
  }
})

/** Does this work in a kernel of its own. Hours pass best without one, because its timers would tick through them. */
export const inKernel = <A, E>(
  steps: ReadonlyArray<ScriptStep>,
  options: TestKernel.TestKernelOptions,
  work: Effect.Effect<A, E, Services | Principal>
): Effect.Effect<A, E, Principal> => Effect.scoped(Effect.flatMap(openKernel(steps, options), ({ run }) => run(work)))

/** What the thread holds, a line for each message. */
export const transcript = Effect.fnUntraced(function* (threadId: ThreadId) {
  const { messages } = yield* (yield* Threads).get(threadId)
  return messages.map((message) => [message.role, message.status, message.content] as const)
})

export const messagesIn = Effect.fnUntraced(function* (threadId: ThreadId) {
  return (yield* (yield* Threads).get(threadId)).messages
})

export const storedRun = Effect.fnUntraced(function* (turn: { readonly threadId: ThreadId; readonly runId: RunId }) {
  return (yield* (yield* Turns).report(turn.threadId, turn.runId)).run
})

export const tags = (events: ReadonlyArray<TurnEvent>): ReadonlyArray<string> => events.map((event) => event._tag)

export const joinedText = (events: ReadonlyArray<TurnEvent>): string =>
  events.map((event) => (event._tag === "TextDelta" ? event.text : "")).join("")

export const terminalEvent = (events: ReadonlyArray<TurnEvent>) => {
  const ends = events.filter(isTerminal)
  const [end] = ends
  if (end === undefined || ends.length > 1 || events.at(-1) !== end)
    throw new Error(`Not one end: ${tags(events).join(" ")}`)
  return end
}

/** Everything that the store holds of a run's log. */
export const storedLog = Effect.fnUntraced(function* (turn: { readonly runId: RunId }) {
  const store = yield* RunStore
  const events: Array<LogEvent> = []
  while (true) {
    const more = yield* store.read(turn.runId, events.at(-1)?.sequence ?? 0)
    if (more.length === 0) return events as ReadonlyArray<LogEvent> as ReadonlyArray<TurnEvent>
    events.push(...more)
  }
})

/** The failure of an effect, which must have one. */
export const failureFrom = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<E, A, R> => Effect.flip(effect)

export const weather = { name: "weather", description: "The weather of a city", parameters: null }
export const clock = { name: "clock", description: null, parameters: { type: "object", properties: {} } }

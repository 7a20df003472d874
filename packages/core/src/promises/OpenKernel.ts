/**
 * The kernel for code without Effect: promises, async iterables, plain ids. The same type is used in production (`Colloquy.open` of the
 * package `colloquy`) and in tests (`TestKernel.open`). Promises reject with the kernel's own errors (`ThreadBusy`, `ThreadNotFound`, …),
 * recognisable by `_tag` or class.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import { UnderWay } from "../primitives/UnderWay.ts"
import { Turns } from "../turns/TurnUseCases.ts"
import { type CallOptions, Calls } from "./Calls.ts"
import { joinedRooms } from "./JoinedRooms.ts"
import { type TurnCalls, turnCalls } from "./OpenTurn.ts"
import { type RecordCalls, recordCalls } from "./RecordCalls.ts"
import { processLife } from "./ProcessLife.ts"
import { type NoRooms, OpenRooms, type RoomTypes } from "./Room.ts"
import type { UseCases } from "./UseCases.ts"

interface RunAnything<Services> {
  /** Runs any other effect over the kernel's services. */
  readonly run: <A, E>(effect: Effect.Effect<A, E, Services | Principal>, options?: CallOptions) => Promise<A>
}

/** All calls that run for an owner, with those of the rooms. */
export type KernelCalls<Services = UseCases, Types extends RoomTypes = NoRooms> = RecordCalls &
  TurnCalls<Types> &
  RunAnything<Services> &
  Types["calls"]

interface Lifetime<Services, Types extends RoomTypes> {
  /** The same calls for one owner: `kernel.as("ada").send({ content })`. */
  readonly as: (owner: string) => KernelCalls<Services, Types>
  /** From now on new turns are refused with `ShuttingDown`. Resolves when the running ones are settled. */
  readonly drain: () => Promise<void>
  /** Ends what still runs, keeps the text so far, and closes everything that was opened. Later calls reject with `KernelClosed`. */
  readonly close: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
  /** For Effect code in the same program: the services, while the kernel is open. */
  readonly services: Context.Context<Services>
}

export type OpenKernel<Services = UseCases, Types extends RoomTypes = NoRooms> = KernelCalls<Services, Types> &
  Lifetime<Services, Types>

/** For whom calls run that name no owner. */
export interface OpenKernelOptions {
  /** The owner of calls that name none. Absent: such calls are refused. */
  readonly owner?: string | undefined
}

/** Builds a kernel and opens it. Rejects with the error that prevented the build. The layers of rooms need `OpenRooms`, which is added here. */
export const openKernel = async <Services, E, Types extends RoomTypes = NoRooms>(
  layer: Layer.Layer<Services | UseCases, E, OpenRooms>,
  options: OpenKernelOptions = {}
): Promise<OpenKernel<Services | UseCases, Types>> => {
  const scope = Scope.makeUnsafe()
  const life = await Effect.runPromise(Layer.buildWithScope(processLife, scope))
  const { begin } = Context.get(life, UnderWay)
  const built = Layer.buildWithScope(Layer.provideMerge(layer, [OpenRooms.layer, Layer.succeedContext(life)]), scope)
  const opened = begin()
  const services = await Effect.runPromiseWith(life)(
    Effect.onError(built, (cause) => Scope.close(scope, Exit.failCause(cause)))
  ).finally(opened)
  const calls = new Calls(services)
  const rooms = joinedRooms(calls.service(OpenRooms))
  const boundCalls = (bound: CallOptions) => {
    const run = <A, E2>(effect: () => Effect.Effect<A, E2, Principal>, given?: CallOptions) =>
      calls.run(effect, { ...bound, ...given })
    const all = {
      ...recordCalls(calls, bound),
      ...turnCalls(calls, rooms, bound),
      run: <A, E2>(effect: Effect.Effect<A, E2, Services | UseCases | Principal>, given?: CallOptions) =>
        calls.run(() => effect, { ...bound, ...given }),
      ...rooms.calls(run)
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each room's functions were checked against its types by `room`
    return all as unknown as KernelCalls<Services | UseCases, Types>
  }

  const end = async () => {
    calls.refuse()
    const closed = begin()
    try {
      await Effect.runPromiseWith(life)(Scope.close(scope, Exit.void))
    } finally {
      calls.leaveAll()
      closed()
    }
  }
  let ended: Promise<void> | undefined
  const close = () => (ended ??= end())

  return {
    ...boundCalls(options),
    as: (owner) => boundCalls({ owner }),
    drain: () => calls.runForAll(calls.service(Turns).drain, undefined),
    close,
    [Symbol.asyncDispose]: close,
    services
  }
}

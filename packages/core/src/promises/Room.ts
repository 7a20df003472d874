/**
 * How a room joins a kernel that is opened without Effect. A room is a value with a layer; its type says which calls, fields of messages,
 * fields of replies and events it adds. While the kernel is built, the layer registers the functions behind these types in `OpenRooms`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import type { StartedTurn } from "../turns/StartedTurn.ts"
import type { PartTold } from "../turns/TurnEvent.ts"
import type { TurnReply } from "../turns/TurnReply.ts"
import type { TurnRequest } from "../turns/TurnRequest.ts"
import type { CallOptions } from "./Calls.ts"

/** What a room adds to the type of a kernel. */
export interface RoomTypes {
  /** Calls by their names: `{ documents: DocumentCalls }`. */
  readonly calls: object
  /** Fields of a message. */
  readonly request: object
  /** Fields of a reply. */
  readonly reply: object
  /** Events that replace what the room's part of the turn told. `never`: none. */
  readonly event: { readonly _tag: string }
}

/** The types of a kernel without rooms. */
export interface NoRooms extends RoomTypes {
  readonly event: never
}

/** Runs an effect of the room for the owner of the call. */
export type RunCall = <A, E>(effect: () => Effect.Effect<A, E, Principal>, options?: CallOptions) => Promise<A>

type Begin = (request: TurnRequest) => Effect.Effect<StartedTurn, unknown, Principal>

/** The functions of a room, as its types promise them. Each may be absent where the room adds nothing of that kind. */
export interface RoomFunctions<Types extends RoomTypes> {
  readonly name: string
  /** The names of the fields that it adds to messages. */
  readonly fields?: ReadonlyArray<keyof Types["request"] & string>
  readonly calls?: (run: RunCall) => Types["calls"]
  /** Begins a turn whose message has fields of this room: changes the request and calls `next`. */
  readonly begin?: (fields: Types["request"], request: TurnRequest, next: Begin) => ReturnType<Begin>
  readonly reply?: (reply: TurnReply) => Effect.Effect<Types["reply"], unknown, Principal>
  /** Null: the event stays as it is. */
  readonly event?: (told: PartTold) => Types["event"] | null
}

/** A room whose types are known to the caller of the kernel only. */
interface OpenRoom {
  readonly name: string
  readonly fields: ReadonlyArray<string>
  readonly calls: (run: RunCall) => object
  readonly begin: (fields: object, request: TurnRequest, next: Begin) => ReturnType<Begin>
  readonly reply: ((reply: TurnReply) => Effect.Effect<object, unknown, Principal>) | undefined
  readonly event: (told: PartTold) => object | null
}

/** The rooms of one kernel, in the order in which they were given. */
export class OpenRooms extends Context.Service<
  OpenRooms,
  { readonly add: (room: OpenRoom) => void; readonly all: () => ReadonlyArray<OpenRoom> }
>()("@colloquy/core/promises/OpenRooms") {
  static readonly layer: Layer.Layer<OpenRooms> = Layer.sync(OpenRooms, () => {
    const rooms: Array<OpenRoom> = []
    return { add: (room) => void rooms.push(room), all: () => rooms }
  })
}

/** A room as a plain value. `Needs` is what its layer requires of the kernel and the store. */
export interface Room<Types extends RoomTypes = RoomTypes, Needs = never> {
  readonly layer: Layer.Layer<never, unknown, Needs | OpenRooms>
  /** Never set: carries the types. */
  readonly "~types"?: Types
}

/** A room from the layer of its services and the functions that are made of them. */
export const room = <Types extends RoomTypes>() => {
  return <Provided, E, Needs, Used>(
    services: Layer.Layer<Provided, E, Needs>,
    functions: Effect.Effect<RoomFunctions<Types>, never, Used>
  ): Room<Types, Needs | Exclude<Exclude<Used, Scope.Scope>, Provided>> => ({
    layer: Layer.effectDiscard(
      Effect.gen(function* () {
        const { add } = yield* OpenRooms
        add(opened(yield* functions))
      })
    ).pipe(Layer.provideMerge(services))
  })
}

const opened = <Types extends RoomTypes>(functions: RoomFunctions<Types>): OpenRoom => {
  const { begin, fields = [] } = functions
  return {
    name: functions.name,
    fields,
    calls: functions.calls ?? (() => ({})),
    begin: (given, request, next) =>
      begin === undefined || !fields.some((field) => Object.hasOwn(given, field))
        ? next(request)
        : begin(given, request, next),
    reply: functions.reply,
    event: functions.event ?? (() => null)
  }
}

/** The request with options for a part of the turn. */
export const withOptions = (request: TurnRequest, part: string, options: object): TurnRequest => ({
  ...request,
  options: Object.assign({}, request.options, { [part]: options })
})

type TypesOf<Some> = Some extends { readonly "~types"?: infer Types extends RoomTypes } ? Types : never
type Both<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never

/** What all these rooms add together. */
export interface Joined<Rooms extends ReadonlyArray<unknown>> extends RoomTypes {
  readonly calls: Both<TypesOf<Rooms[number]>["calls"]> & object
  readonly request: Both<TypesOf<Rooms[number]>["request"]> & object
  readonly reply: Both<TypesOf<Rooms[number]>["reply"]> & object
  readonly event: TypesOf<Rooms[number]>["event"]
}

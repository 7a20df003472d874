/** All rooms of a kernel as one: what they change of a message, of a reply and of an event. */
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import { ModelOptions } from "../models/ModelOptions.ts"
import type { StartedTurn } from "../turns/StartedTurn.ts"
import type { TurnEvent } from "../turns/TurnEvent.ts"
import type { TurnReply } from "../turns/TurnReply.ts"
import type { TurnRequest } from "../turns/TurnRequest.ts"
import { checkMessage } from "./PlainFields.ts"
import { type Reply, plainReply } from "./Reply.ts"
import { type SendRequest, turnRequest } from "./Requests.ts"
import type { OpenRooms, RunCall } from "./Room.ts"

type Start = (request: TurnRequest) => Effect.Effect<StartedTurn, unknown, Principal>

export interface JoinedRooms {
  readonly begin: (request: SendRequest, start: Start) => ReturnType<Start>
  readonly reply: (reply: TurnReply) => Effect.Effect<Reply, unknown, Principal>
  /** A room's own event in place of what its part told. */
  readonly show: (event: TurnEvent) => TurnEvent
  readonly calls: (run: RunCall) => object
}

/** Every field of a message without rooms. The type makes a field that is missing here an error. */
const ownFields: { readonly [Field in keyof Required<SendRequest>]: true } = {
  assistantId: true,
  assistantVersion: true,
  background: true,
  busy: true,
  citations: true,
  content: true,
  customTimestamp: true,
  idempotency: true,
  ignored: true,
  jsonOutput: true,
  metadata: true,
  model: true,
  modelOptions: true,
  options: true,
  provider: true,
  routing: true,
  sendToModel: true,
  stream: true,
  systemFallback: true,
  systemPrompt: true,
  thinking: true,
  threadId: true,
  tools: true
}

export const joinedRooms = ({ all }: typeof OpenRooms.Service): JoinedRooms => {
  const rooms = all()

  const begin: JoinedRooms["begin"] = (request, start) => {
    const known = new Set([...Object.keys(ownFields), ...rooms.flatMap(({ fields }) => fields)])
    const unknown = Object.keys(request).filter((field) => !known.has(field))
    if (unknown.length > 0) throw unknownField(unknown, [...known])
    if (typeof request.content !== "string") throw new TypeError("A message has its text as `content`.")
    const options = Object.keys(request.modelOptions ?? {}).filter((name) => !Object.hasOwn(ModelOptions.fields, name))
    if (options.length > 0) throw unknownOption(options)
    checkMessage(request)
    const fields = rooms.flatMap((room) => room.fields)
    const own = Object.fromEntries(Object.entries(request).filter(([field]) => !fields.includes(field)))
    const next = rooms.reduceRight<Start>((rest, room) => (turn) => room.begin(request, turn, rest), start)
    return next(turnRequest({ ...own, content: request.content }))
  }

  return {
    begin,
    reply: (turn) =>
      Effect.map(
        Effect.forEach(rooms, ({ reply }) => reply?.(turn) ?? Effect.succeed({})),
        (added) => Object.assign({}, plainReply(turn), ...added)
      ),
    show: (event) => {
      if (event._tag !== "PartTold") return event
      for (const room of rooms) {
        const shown = room.event(event)
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- callers of a kernel with rooms see the rooms' events in the type
        if (shown !== null) return { ...shown, sequence: event.sequence } as unknown as TurnEvent
      }
      return event
    },
    calls: (run) => Object.assign({}, ...rooms.map((room) => room.calls(run)))
  }
}

const unknownOption = (unknown: ReadonlyArray<string>): TypeError =>
  new TypeError(
    `\`modelOptions\` has no field ${unknown.map((name) => `"${name}"`).join(", ")}. Fields: ${Object.keys(ModelOptions.fields).toSorted().join(", ")}.`
  )

const unknownField = (unknown: ReadonlyArray<string>, known: ReadonlyArray<string>): TypeError =>
  new TypeError(
    `A message has no field ${unknown.map((field) => `"${field}"`).join(", ")}. ` +
      `If the field belongs to a room, open the kernel with that room (\`rooms: [memory()]\` for "memory"). Fields: ${known.toSorted().join(", ")}.`
  )

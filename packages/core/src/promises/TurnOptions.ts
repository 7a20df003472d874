/** What a caller without Effect says of a turn besides its request, and what it gets. */
import type { AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { TurnEvent } from "../turns/TurnEvent.ts"
import type { CallOptions } from "./Calls.ts"
import type { Reply } from "./Reply.ts"
import type { NoRooms, RoomTypes } from "./Room.ts"

export interface TurnOptions extends CallOptions {
  /** What happens to the run when the caller breaks out of its events or aborts the signal. Default: `continue`. */
  readonly onLeave?: "continue" | "cancel" | undefined
}

/** Options of a call that sends a message and waits for the reply. */
export interface SendOptions extends TurnOptions {
  /** True: a failed turn rejects with `TurnFailed`. Otherwise it is a reply with the status `FAILED`. */
  readonly throw?: boolean | undefined
}

/** What `start` gives when the message is stored: the ids, the events to loop over, and `reply()`, which waits for the answer. */
export interface OpenTurn<Types extends RoomTypes = NoRooms, Answer = Reply> {
  readonly threadId: ThreadId
  readonly assistantId: AssistantId
  readonly runId: RunId
  /** The events of this leg, live, from its first to its terminal event. Every loop begins at the first event. */
  readonly events: AsyncIterable<TurnEvent | Types["event"]>
  /** Waits for the end of the leg. */
  readonly reply: () => Promise<Answer & Types["reply"]>
}

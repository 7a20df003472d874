/** The types with which parts have a text rewritten: the functions, and the source of a text. `Rewriting` makes the functions. */
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { InsufficientCredit } from "../metering/Metering.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { TurnRefused } from "./TurnErrors.ts"

/**
 * Changes a text before it is stored. `kind` is told to the parts that rewrite (`TextSource`): outputs of tools and arguments of calls are
 * `tool_output`. Absent: that of the place where the function was given, in a `TurnCase` `message`.
 */
export type Rewrite = (
  text: string,
  kind?: TextSource["kind"]
) => Effect.Effect<string, TurnRefused | InsufficientCredit | StoreUnavailable, Principal>

/** The source of a text that is about to enter a turn. */
export interface TextSource {
  /**
   * `message`: the user's words, written, heard, or sent with the message. `tool_output`: what a tool returned, the client's or a hosted
   * one. `recalled`: an excerpt of a file, a memory, anything that a part recalls.
   */
  readonly kind: "message" | "tool_output" | "recalled"
  readonly threadId: LiveTurn["threadId"]
  readonly assistantId: LiveTurn["assistantId"]
}

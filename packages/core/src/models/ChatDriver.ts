/**
 * The one function that a chat provider implements. It knows a wire format and nothing else: retries, deadlines, spans and the checks of
 * the order of events are added once, for all drivers, by `ChatModel`.
 *
 * Promises of a driver:
 * - The stream is cold: each run of it is one request, and interrupting it closes the connection.
 * - It fails with a `ModelError` and never with a defect for anything that the provider can send.
 * - It holds a bounded amount of what it reads, whatever the provider sends.
 * - What the model does not support (by `request.info`) is left out, as the specification says for `thinking` and `router`.
 */
import type * as Stream from "effect/Stream"
import type { ChatEvent } from "./ChatEvent.ts"
import type { ChatRequest } from "./ChatRequest.ts"
import type { ModelError } from "./ModelError.ts"

export type ChatDriver = (request: ChatRequest) => Stream.Stream<ChatEvent, ModelError>

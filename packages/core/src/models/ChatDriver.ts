/**
 * The one function that a chat provider implements. It only knows a wire format; `ChatModel` adds retries, deadlines, spans and the checks
 * of the order of events for all drivers.
 *
 * Contract of a driver:
 * - The stream is cold: each run of it is one request, and an interruption closes the connection.
 * - It fails with a `ModelError` and never with a defect for anything that the provider can send.
 * - It buffers a bounded amount, whatever the provider sends.
 * - Options that the model does not support (by `request.info`) are left out, as the specification says for `thinking` and `router`.
 */
import type * as Stream from "effect/Stream"
import type { ChatEvent } from "./ChatEvent.ts"
import type { ChatRequest } from "./ChatRequest.ts"
import type { ModelError } from "./ModelError.ts"

export type ChatDriver = (request: ChatRequest) => Stream.Stream<ChatEvent, ModelError>

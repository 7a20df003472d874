/**
 * The one function that a chat provider implements. It only knows a wire format; `ChatModel` adds retries, deadlines, spans and the checks
 * of the order of events for all drivers.
 *
 * Contract of a driver:
 * - Each run of the stream MUST be one request, and an interruption, or a reader that stops, MUST close the connection.
 * - Its request MUST name the model and hold every text of the prompt: the system prompt, the tools, and the messages in their order, with
 *   calls and outputs of tools.
 * - `toolChoice`, `maxOutputTokens` and `jsonOutput` MUST reach a provider that has such options.
 * - What the provider needs back with an answer MUST be told in `providerData`, and be sent only to the provider that is named there.
 * - Whatever the provider sends, the stream MUST fail with a `ModelError` and never with a defect; the error MUST NOT contain text of the
 *   provider.
 * - The error of an answer over HTTP MUST have its `status`, and `retryAfterMillis` if the provider says when to ask again.
 * - Deltas MUST be told as they come, if the provider streams.
 * - It MUST buffer a bounded amount, whatever the provider sends.
 * - The request's `apiKey` MUST be used in place of the host's key if there is one.
 * - Options that the model does not support (by `request.info`) are left out; `thinking` and `router` are such options.
 */
import type * as Stream from "effect/Stream"
import type { ChatEvent } from "./ChatEvent.ts"
import type { ChatRequest } from "./ChatRequest.ts"
import type { ModelError } from "./ModelError.ts"

export type ChatDriver = (request: ChatRequest) => Stream.Stream<ChatEvent, ModelError>

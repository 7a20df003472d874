/** The message endpoints: decode, begin the turn, deliver it. */
import { AssistantId, ThreadId, type TurnRequest, Turns } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../Api.ts"
import { PayloadTooLarge } from "../wire/Errors.ts"
import { compact, given, givenName } from "../wire/Fields.ts"
import type { MessageRequest, StatelessMessageBody } from "../wire/MessageBody.ts"
import { messageBodies } from "../endpoints/MessagesApi.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { idempotencyOf } from "./Idempotency.ts"
import { isLongerThan } from "../bodies/Text.ts"
import { optionsOf } from "../wings/Wings.ts"
import { bodyReader } from "../bodies/BodyReader.ts"
import { delivery } from "./Delivery.ts"
import { jsonObjectOf, routingFromWire, sendToModel, thinkingFromWire, toolsFromWire } from "./TurnOptions.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "messages",
  Effect.fnUntraced(function* (handlers) {
    const turns = yield* Turns
    const read = yield* bodyReader
    const deliver = yield* delivery
    const { limits } = yield* HttpSettings

    const checkText = (content: string): Effect.Effect<void, PayloadTooLarge> =>
      isLongerThan(content, limits.text)
        ? Effect.fail(new PayloadTooLarge({ detail: `The text is over the limit of ${limits.text} bytes` }))
        : Effect.void

    return handlers
      .handleRaw("send", (raw) =>
        Effect.gen(function* () {
          const { value } = yield* read(messageBodies.send, raw)
          yield* checkText(value.content ?? "")
          const request: TurnRequest = {
            ...commonOf(value),
            ...compact({ routing: routingFromWire(value.router) }),
            threadId: ThreadId.make(raw.params.thread_id)
          }
          const repeat = yield* idempotencyOf(raw, request)
          return yield* deliver(turns.start({ ...request, ...repeat }), value.stream === true)
        })
      )
      .handleRaw("sendStateless", (raw) =>
        Effect.gen(function* () {
          const { value } = yield* read(messageBodies.sendStateless, raw)
          yield* checkText(value.content ?? "")
          const request: TurnRequest = { ...commonOf(value), ...placeOf(value), systemFallback: "description" }
          const repeat = yield* idempotencyOf(raw, request)
          return yield* deliver(turns.start({ ...request, ...repeat }), value.stream === true)
        })
      )
  })
)

const placeOf = ({ assistant_id, thread_id }: StatelessMessageBody) => ({
  ...(typeof thread_id === "string" ? { threadId: ThreadId.make(thread_id) } : {}),
  ...(typeof assistant_id === "string" ? { assistantId: AssistantId.make(assistant_id) } : {})
})

const commonOf = (body: MessageRequest | StatelessMessageBody): TurnRequest => ({
  content: body.content ?? "",
  stream: body.stream === true,
  sendToModel: sendToModel(body.send_to_llm),
  ...compact({
    systemPrompt: given(body.system_prompt),
    provider: givenName(body.llm_provider),
    model: givenName(body.model_name),
    tools: toolsFromWire(body.tools),
    thinking: thinkingFromWire(body.thinking),
    jsonOutput: given(body.json_output),
    metadata: jsonObjectOf(body.metadata),
    customTimestamp: given(body.custom_timestamp),
    options: optionsOf(body)
  })
})

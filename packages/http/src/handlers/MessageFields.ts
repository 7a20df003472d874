/** Converts the fields of a message to a request of the kernel: for sending, and for sending again. */
import type { TurnRequest } from "@colloquy/core"
import type { RawBody } from "../bodies/RequestBody.ts"
import { compact, given, givenName } from "../wire/Fields.ts"
import type { MessageBody, StatelessMessageBody } from "../wire/MessageBody.ts"
import type { Wings } from "../wings/Wings.ts"
import {
  readMetadata,
  modelOptionsFromWire,
  routingFromWire,
  sendToModel,
  thinkingFromWire,
  toolsFromWire
} from "./TurnOptions.ts"

export const findIgnored = (
  wings: typeof Wings.Service,
  body: MessageBody | StatelessMessageBody
): TurnRequest["ignored"] => {
  const ignored = wings.ignored(body, !sendToModel(body.send_to_llm))
  return ignored.length === 0 ? undefined : ignored
}

export const commonRequest = (body: MessageBody | StatelessMessageBody): TurnRequest => ({
  content: body.content ?? "",
  stream: body.stream === true,
  sendToModel: sendToModel(body.send_to_llm),
  ...compact({
    assistantVersion: given(body.assistant_version),
    systemPrompt: given(body.system_prompt),
    provider: givenName(body.llm_provider),
    model: givenName(body.model_name),
    tools: toolsFromWire(body.tools),
    thinking: thinkingFromWire(body.thinking),
    modelOptions: modelOptionsFromWire(body.model_options),
    jsonOutput: given(body.json_output),
    citations: given(body.citations),
    metadata: readMetadata(body.metadata),
    customTimestamp: given(body.custom_timestamp)
  })
})

/** The kernel's request of a message, without its thread and its assistant. */
export const wholeRequest = (wings: typeof Wings.Service, body: MessageBody, raw: RawBody): TurnRequest => ({
  ...commonRequest(body),
  ...compact({
    options: wings.options(body, raw),
    ignored: findIgnored(wings, body),
    routing: routingFromWire(body.router)
  })
})

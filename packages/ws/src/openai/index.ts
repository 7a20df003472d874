/**
 * OpenAI's realtime protocol as a front door: `realtimeSocket({ doors: [openAiRealtime] })`. Clients of that protocol speak at `/v1/realtime` with
 * any realtime model of the service.
 */
import type { IncomingMessage } from "node:http"
import type { FrontDoor, Proof } from "../FrontDoor.ts"
import { firstHeader } from "../Headers.ts"
import { openAiWire } from "./Wire.ts"

/** Browsers cannot send headers, so the protocol's clients send the key as a subprotocol. */
const keyProtocol = "openai-insecure-api-key."

const proof = ({ headers }: IncomingMessage, query: URLSearchParams): Proof => {
  const [, bearer] = /^Bearer +(\S+)\s*$/iu.exec(headers.authorization ?? "") ?? []
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((each) => each.trim())
  const inProtocol = offered.find((each) => each.startsWith(keyProtocol))?.slice(keyProtocol.length)
  const given = firstHeader(headers["x-api-key"]) ?? bearer ?? inProtocol ?? null
  const ticket = query.get("ticket") ?? (given?.startsWith("ct_") === true ? given : null)
  return { key: given === ticket ? null : given, ticket }
}

/** OpenAI's realtime protocol at `/v1/realtime`. */
export const openAiRealtime: FrontDoor = {
  path: "/v1/realtime",
  proof,
  subprotocol: (offered) => (offered.has("realtime") ? "realtime" : false),
  wire: openAiWire
}

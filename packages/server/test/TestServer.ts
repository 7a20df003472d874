/** The server in the process of its test, and a client by hand that does not use the types. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { type RunningServer, startServer } from "../src/Server.ts"
import { type Environment, readSettings } from "../src/Settings.ts"

/** A server that stores nothing permanently. Without limits, because tests send more turns a minute than a person does. */
const usual = { COLLOQUY_DATA_DIR: "memory://", PORT: "0", LIMITS: "off" }

/** With `isFast`, the demo model gives its answers at once. */
export const startDemo = async (environment: Environment = {}, isFast = false): Promise<RunningServer> => {
  const settings = await Effect.runPromise(readSettings({ ...usual, ...environment }))
  return startServer(isFast ? { ...settings, demoPace: 0 } : settings)
}

export const serverKey = (server: RunningServer): string =>
  server.newKey === null ? "" : Redacted.value(server.newKey)

export interface Answer {
  readonly status: number
  /** The body is read field by field, and a missing field fails the assertion. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

/** Sends a request to an API at this address. */
export const callApi = async (
  { api, key }: { readonly api: string; readonly key: string },
  method: string,
  path: string,
  body?: object
): Promise<Answer> => {
  const response = await fetch(`${api}${path}`, {
    method,
    headers: { "x-api-key": key, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  return { status: response.status, body: await response.json() }
}

/** Calls the API as another client of the same user; returns the bodies of the responses. */
export const caller =
  (server: RunningServer, key = serverKey(server)) =>
  async (method: string, path: string, body?: object): Promise<Answer["body"]> =>
    (await callApi({ api: `${server.url}/api`, key }, method, path, body)).body

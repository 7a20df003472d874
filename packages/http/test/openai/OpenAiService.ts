/** A scripted service with OpenAI's endpoints on a real port, and the official client against it. */
import { createServer } from "node:http"
import OpenAI, { type ClientOptions } from "openai"
import { openai } from "../../src/openai/index.ts"
import { keys, open, type Service, type ServiceOptions } from "../Service.ts"
import type { ScriptStep } from "@colloquy/testing"
import { listen } from "../Sockets.ts"

export interface OpenAiService extends Service {
  readonly url: string
  readonly client: (options?: Partial<ClientOptions>) => OpenAI
}

export const model = "scripted/scripted-model"

/** The same for a service that a test has made itself. */
export const behindServer = async (service: Service): Promise<OpenAiService> => {
  const server = await listen(createServer(service.node))
  const url = server.url
  return {
    ...service,
    url,
    client: (options = {}) => new OpenAI({ baseURL: `${url}/v1`, apiKey: keys.ada, maxRetries: 0, ...options }),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
    }
  }
}

/** Fails unless the call is refused with this class of the client's errors. */
export const refused = async <E extends Error>(
  call: PromiseLike<unknown>,
  kind: new (...args: never) => E
): Promise<E> => {
  try {
    await call
  } catch (error) {
    if (error instanceof kind) return error
    throw error
  }
  throw new Error("It was not refused")
}

export const openService = async (
  steps: ReadonlyArray<ScriptStep>,
  options: ServiceOptions = {}
): Promise<OpenAiService> => behindServer(await open(steps, { ...options, http: { ...options.http, wings: [openai] } }))

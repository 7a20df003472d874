/**
 * Clients for a remote server or for a handler in the same process, with the same types and the same requests. `make` gives a client for
 * Effect, made from the definition of the API; `connect` gives one with promises, and streams for `for await`. Both fail with the classes
 * of `WireErrors`.
 */
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as HttpBody from "effect/http/HttpBody"
import * as Layer from "effect/Layer"
import { Api } from "../Api.ts"
import type { ClientOptions } from "./PromiseClient.ts"

export type { ClientEvent } from "./ClientEvents.ts"
export * from "./PromiseClient.ts"
export type { FileInput } from "./FormBody.ts"

/** The client with a method for each endpoint, as effects. */
export type EffectClient = HttpApiClient.ForApi<typeof Api>

/** Makes the client as effects. */
export const make = ({ apiKey, baseUrl, handler, headers }: ClientOptions): Effect.Effect<EffectClient> => {
  const all = { ...headers, ...(apiKey === undefined ? {} : { "x-api-key": apiKey }) }
  const through = handler === undefined ? globalThis.fetch : fetchThrough(handler)
  const made = HttpApiClient.make(Api, {
    baseUrl,
    transformClient: (client) =>
      client.pipe(
        HttpClient.mapRequest(HttpClientRequest.setHeaders(all)),
        HttpClient.mapRequest(withoutNull),
        HttpClient.transformResponse(Effect.provideService(FetchHttpClient.Fetch, through))
      )
  })
  return Effect.scoped(
    Effect.flatMap(Layer.build(FetchHttpClient.layer), (services) => Effect.provideContext(made, services))
  )
}

/** A body that may be left out is left out: parsers of a host refuse the JSON text `null`. */
const withoutNull = (request: HttpClientRequest.HttpClientRequest): HttpClientRequest.HttpClientRequest =>
  request.body._tag === "Uint8Array" && request.body.contentLength === 4 && decoder.decode(request.body.body) === "null"
    ? HttpClientRequest.setBody(request, HttpBody.empty)
    : request

const decoder = new TextDecoder()

const fetchThrough =
  (handler: (request: Request) => Promise<Response>): typeof globalThis.fetch =>
  async (input, init) =>
    handler(init?.body instanceof FormData ? await withBytes(input, init, init.body) : new Request(input, init))

/** Node's own reading of a form breaks when it is not read to its end, and the handler does not read what is too large. */
const withBytes = async (input: string | URL | Request, init: RequestInit, form: FormData): Promise<Request> => {
  const encoded = new Response(form)
  const request = new Request(input, { ...init, body: await encoded.arrayBuffer() })
  request.headers.set("content-type", encoded.headers.get("content-type") ?? "multipart/form-data")
  return request
}

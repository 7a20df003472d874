/** The methods of a path, for the answer 405. A path without methods does not exist, and its answer is 404. */
import * as HttpApi from "effect/http-api/HttpApi"
import { Api } from "./Api.ts"

interface Known {
  readonly pattern: RegExp
  readonly method: string
}

type Add = (endpoint: { readonly method: string; readonly path: string }) => void

/** Names the endpoints of the API. */
export const reflectApi = (add: Add): void =>
  HttpApi.reflect(Api, { onGroup: () => {}, onEndpoint: ({ endpoint }) => add(endpoint) })

/** `added` names the endpoints of the host's wings. The result is empty if there is no such path. */
export const methodsAmong = (added: ReadonlyArray<(add: Add) => void>) => {
  const known: Array<Known> = []
  const add: Add = ({ method, path }) => {
    known.push({ pattern: new RegExp(`^${path.replaceAll(/:\w+/gu, "[^/]+")}/?$`, "u"), method })
  }
  for (const name of [reflectApi, ...added]) name(add)
  return (path: string): ReadonlyArray<string> => {
    const methods = known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    return [...new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))]
  }
}

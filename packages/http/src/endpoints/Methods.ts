/** Which methods a path has: for the answer 405, which only a path that exists can get. */
import * as HttpApi from "effect/http-api/HttpApi"
import { Api } from "../Api.ts"
import { absentEndpoints } from "../wings/Wings.ts"

interface Known {
  readonly pattern: RegExp
  readonly method: string
}

const known: ReadonlyArray<Known> = (() => {
  const found: Array<Known> = []
  const add = ({ method, path }: { readonly method: string; readonly path: string }) => {
    found.push({ pattern: new RegExp(`^${path.replaceAll(/:\w+/gu, "[^/]+")}/?$`, "u"), method })
  }
  HttpApi.reflect(Api, { onGroup: () => {}, onEndpoint: ({ endpoint }) => add(endpoint) })
  for (const endpoint of absentEndpoints) add(endpoint)
  return found
})()

/** Empty: there is no such path. */
export const methodsAt = (path: string): ReadonlyArray<string> => {
  const methods = known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
  return [...new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))]
}

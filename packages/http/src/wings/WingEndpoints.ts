/** Endpoints that a wing brings: `wingApi` puts the guards of the API around a group of them, `served` joins the group with its handlers. */
import type * as Etag from "effect/http/Etag"
import type * as HttpPlatform from "effect/http/HttpPlatform"
import type * as FileSystem from "effect/FileSystem"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import { Authorization, RateLimit, Validation } from "../wire/Middleware.ts"
import type { WingEndpoints, WingServices } from "./Wing.ts"

/** The endpoints ask for a key or the host's session, count against the rate, and list every problem of a request, as all others do. */
export const wingApi = <Group extends HttpApiGroup.Constraint>(group: Group) =>
  // The last one is the outermost.
  HttpApi.make("colloquy-wing").add(group).middleware(Validation).middleware(RateLimit).middleware(Authorization)

/** `handlers` is `HttpApiBuilder.group(api, "name of the group", …)`. */
export const served = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  handlers: Layer.Layer<HttpApiGroup.ToService<Id, Groups>, never, WingServices>
): WingEndpoints => ({
  describe: (described) => withAddedGroups(api, described),
  reflect: (add) => HttpApi.reflect(api, { onGroup: () => {}, onEndpoint: ({ endpoint }) => add(endpoint) }),
  routes: withoutFiles(Layer.provide(HttpApiBuilder.layer(api), handlers))
})

/**
 * Adds endpoints to a description. Its type does not name the added groups, because readers of a description look at its groups one by one.
 */
const withAddedGroups = <Described extends HttpApi.Constraint>(
  added: HttpApi.Constraint,
  described: Described
): Described => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const all = described as unknown as HttpApi.Top
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const more = added as HttpApi.Top
  const twice = Object.keys(more.groups).find((name) => name in all.groups)
  if (twice !== undefined) throw new Error(`The API has a group "${twice}" of endpoints already. Rename yours.`)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return all.addHttpApi(more) as unknown as Described
}

type FileServices = Etag.Generator | FileSystem.FileSystem | HttpPlatform.HttpPlatform | Path.Path

/**
 * The builder of endpoints asks for what serves files and keeps uploads on disk. No endpoint here does either, so these services are never
 * looked for; to bring them along would cost every host their code.
 */
export const withoutFiles = <Requires>(routes: Layer.Layer<never, never, Requires | FileServices>) =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  routes as Layer.Layer<never, never, Exclude<Requires, FileServices>>

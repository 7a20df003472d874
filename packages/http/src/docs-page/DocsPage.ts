/**
 * The page at `/docs` as one file: the program that shows API descriptions is part of it, so it works without a network. Its content
 * security policy lets it run its own scripts and call its own server, and forbids frames.
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiScalar from "effect/http-api/HttpApiScalar"
import * as Layer from "effect/Layer"
import type { DocsPage } from "./DocsRoutes.ts"

const scalar = { withDefaultFonts: false }

/** Answers with the page, under the policy that fits it. */
export const docsPage: DocsPage = Effect.fnUntraced(function* (api) {
  // A router of its own: the host's knows this address already.
  const router = yield* HttpRouter.make
  const route = HttpApiScalar.layer(api, { path: "/", scalar })
  yield* Layer.build(Layer.fresh(Layer.provide(route, Layer.succeed(HttpRouter.HttpRouter, router))))
  const request = HttpServerRequest.fromWeb(new Request("http://localhost/"))
  const answer = Effect.provideService(router.asHttpEffect(), HttpServerRequest.HttpServerRequest, request)
  const response = yield* Effect.orDie(answer)
  const { body } = response
  const html = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
  const hashes = yield* Effect.forEach(scriptTexts(html), scriptHash)
  return HttpServerResponse.setHeaders(response, {
    "content-security-policy": contentPolicy(hashes),
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer"
  })
})

const open = "<script>"
const close = "</script>"

/** The texts of the scripts in the page; none of them holds the word that ends a script. */
const scriptTexts = (html: string): ReadonlyArray<string> =>
  html
    .split(open)
    .slice(1)
    .map((part) => part.slice(0, part.indexOf(close)))

const scriptHash = (script: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(script))),
    (digest) => `'sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}'`
  )

/** Styles are made by the script as it runs. */
const contentPolicy = (hashes: ReadonlyArray<string>): string =>
  [
    "default-src 'none'",
    `script-src ${hashes.join(" ")}`,
    "style-src 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")

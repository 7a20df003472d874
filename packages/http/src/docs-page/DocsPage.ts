/**
 * The page at `/docs` as one file: the program that shows API descriptions is part of it, so it works without a network. Its content
 * security policy lets it run its own scripts and call its own server, and forbids frames. A host may put links above it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiScalar from "effect/http-api/HttpApiScalar"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Layer from "effect/Layer"
import type { Api } from "../Api.ts"
import { withoutHostHeaders } from "./ApiDescription.ts"
import type { DocsPage } from "./DocsRoutes.ts"
import { repairs, styles } from "./Repairs.ts"

/** A link above the page of the API. */
export interface DocsLink {
  readonly title: string
  /** A path of the same server, or one relative to the page. */
  readonly href: string
}

/**
 * The reader asks for the API key first and keeps it in the browser. What its vendor offers beside the description is off: tools for
 * developers, a client in another place, and reports.
 */
const scalar = {
  withDefaultFonts: false,
  authentication: { preferredSecurityScheme: "apiKey" },
  persistAuth: true,
  hideClientButton: true,
  showDeveloperTools: "never",
  telemetry: false,
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  customCss: styles
}

const escaped = (text: string): string => text.replaceAll(/[&<>"]/gu, (sign) => `&#${sign.codePointAt(0)};`)

const linkList = (links: ReadonlyArray<DocsLink>): string =>
  `<nav class="docs-links" aria-label="Colloquy"><b>API</b>${links
    .map(({ href, title }) => `<a href="${escaped(href)}">${escaped(title)}</a>`)
    .join("")}</nav>`

/** The API without the headers that only a host reads: every sample of a request would have them, and empty. */
const shortened = (api: typeof Api): typeof Api => {
  const before = Context.getOrUndefined(api.annotations, OpenApi.Transform)
  return api.annotate(OpenApi.Transform, (document) => withoutHostHeaders(before?.(document) ?? document))
}

/** The page with links above it, for example to a guide. It is sent with the content security policy that fits it. */
export const docsPageWith = (links: ReadonlyArray<DocsLink>): DocsPage =>
  Effect.fnUntraced(function* (api) {
    // A router of its own, because the host's router has a route for this address already.
    const router = yield* HttpRouter.make
    const route = HttpApiScalar.layer(shortened(api), { path: "/", scalar })
    yield* Layer.build(Layer.fresh(Layer.provide(route, Layer.succeed(HttpRouter.HttpRouter, router))))
    const request = HttpServerRequest.fromWeb(new Request("http://localhost/"))
    const response = Effect.provideService(router.asHttpEffect(), HttpServerRequest.HttpServerRequest, request)
    const { body } = yield* Effect.orDie(response)
    const read = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
    const html = read
      .replace("<html>", '<html lang="en">')
      .replace("</head>", () => `<link rel="icon" href="data:," />${open}${repairs}${close}</head>`)
      .replace("<body>", () => `<body>${links.length === 0 ? "" : linkList(links)}`)
    const hashes = yield* Effect.forEach(scriptTexts(html), scriptHash)
    return HttpServerResponse.html(html).pipe(
      HttpServerResponse.setHeaders({
        "content-security-policy": contentPolicy(hashes),
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer"
      })
    )
  })

/** The page `/docs`, which shows the description of the API in a browser: `webHandler({ kernel, docs: docsPage })`. For links above it use `docsPageWith`. */
export const docsPage: DocsPage = docsPageWith([])

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

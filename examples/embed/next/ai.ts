/**
 * The service of this Next application. `next build` imports this file, and so does each edit under `next dev`. Nothing is built before the
 * first request, and the built service is kept on `globalThis`, so that an edit does not build it again.
 */
import { type HostCredentials, type WebHandler, webHandler } from "@colloquy/http"
import type { NextRequest } from "next/server.js"
import { kernel } from "../kernel.ts"
import { userFromCookie } from "../sessions.ts"

declare global {
  var ai: WebHandler | undefined
}

export const ai = (globalThis.ai ??= webHandler({
  kernel,
  basePath: "/ai",
  authenticate: ({ source }: HostCredentials<NextRequest>) => userFromCookie(source.headers.get("cookie"))
}))

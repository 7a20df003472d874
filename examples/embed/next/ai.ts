/**
 * The service of this Next application. `next build` imports this file and so does each edit under `next dev`; nothing is built before a
 * request comes, and the one that was built stays on `globalThis`, where an edit does not lose it.
 */
import { type HostCredentials, type WebHandler, webHandler } from "@colloquy/http"
import type { NextRequest } from "next/server.js"
import { kernel } from "../kernel.ts"
import { userOf } from "../sessions.ts"

declare global {
  var ai: WebHandler | undefined
}

export const ai = (globalThis.ai ??= webHandler({
  kernel,
  basePath: "/ai",
  authenticate: ({ source }: HostCredentials<NextRequest>) => userOf(source.headers.get("cookie"))
}))

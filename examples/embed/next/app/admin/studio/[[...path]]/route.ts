/** The studio under `/admin/studio` of a Next application, for users with a session. */
import { type HostRequest, studio } from "@colloquy/studio"
import type { NextRequest } from "next/server.js"
import { userFromCookie } from "../../../../../sessions.ts"
import { ai } from "../../../../ai.ts"

const page = studio({
  ai,
  basePath: "/admin/studio",
  authorize: ({ source }: HostRequest<NextRequest>) => userFromCookie(source.headers.get("cookie")) !== null
})

export const dynamic = "force-dynamic"
export const GET = page.handler

/** Begins a session. A real host asks for a password here. */
import { sessionCookie } from "../../../../sessions.ts"

export const POST = async (_request: Request, { params }: { readonly params: Promise<{ readonly name: string }> }) =>
  new Response(null, { headers: { "set-cookie": sessionCookie((await params).name) } })

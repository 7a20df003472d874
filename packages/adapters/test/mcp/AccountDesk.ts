/**
 * An MCP server at which each user has an account, with its authorization server: registration, PKCE, addresses that were registered, codes
 * and refresh tokens that work once.
 */
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server"
import * as Schema from "effect/Schema"
import { createHash, randomUUID } from "node:crypto"
import { serve } from "./DeskServer.ts"

const readRegistration = Schema.decodeUnknownSync(
  Schema.StructWithRest(Schema.Struct({ redirect_uris: Schema.Array(Schema.String) }), [
    Schema.Record(Schema.String, Schema.Json)
  ])
)

export const openAccountDesk = async () => {
  const clients = new Map<string, ReadonlyArray<string>>()
  const codes = new Map<
    string,
    { readonly account: string; readonly challenge: string; readonly client: string | null; readonly redirect: string }
  >()
  const access = new Map<string, string>()
  const refresh = new Map<string, string>()
  const seen = { registered: 0, refreshed: 0 }

  const handler = createMcpHandler(({ requestInfo }) => {
    const token = requestInfo?.headers.get("authorization")?.slice("Bearer ".length) ?? ""
    const account = access.get(token) ?? "nobody"
    const server = new McpServer({ name: "accounts", version: "1.0.0" })
    server.registerTool("whoami", {}, () => ({ content: [{ type: "text", text: `You are ${account}.` }] }))
    server.registerTool(`notes_of_${account}`, {}, () => ({ content: [{ type: "text", text: "A note." }] }))
    // Models know both by one name.
    server.registerTool(`notes.of_${account}`, {}, () => ({ content: [{ type: "text", text: "Another note." }] }))
    return server
  })

  const newTokens = (account: string) => {
    const tokens = { access_token: randomUUID(), refresh_token: randomUUID(), token_type: "Bearer", expires_in: 3600 }
    access.set(tokens.access_token, account)
    refresh.set(tokens.refresh_token, account)
    return Response.json(tokens)
  }

  const token = (form: URLSearchParams): Response => {
    if (form.get("grant_type") === "refresh_token") {
      const account = refresh.get(form.get("refresh_token") ?? "")
      refresh.delete(form.get("refresh_token") ?? "")
      seen.refreshed += 1
      return account === undefined ? Response.json({ error: "invalid_grant" }, { status: 400 }) : newTokens(account)
    }
    const code = codes.get(form.get("code") ?? "")
    codes.delete(form.get("code") ?? "")
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url")
    const isSame = code?.client === form.get("client_id") && code.redirect === form.get("redirect_uri")
    return isSame && code.challenge === challenge
      ? newTokens(code.account)
      : Response.json({ error: "invalid_grant" }, { status: 400 })
  }

  const answer = async (request: Request): Promise<Response> => {
    const { origin, pathname, searchParams } = new URL(request.url)
    if (pathname.startsWith("/.well-known/oauth-protected-resource"))
      return Response.json({ resource: `${origin}/mcp`, authorization_servers: [origin] })
    if (pathname === "/.well-known/oauth-authorization-server")
      return Response.json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"]
      })
    if (pathname === "/register") {
      seen.registered += 1
      const client_id = randomUUID()
      const asked = readRegistration(await request.json())
      clients.set(client_id, asked.redirect_uris)
      return Response.json({ ...asked, client_id }, { status: 201 })
    }
    if (pathname === "/authorize") {
      const redirect = searchParams.get("redirect_uri") ?? ""
      const client = searchParams.get("client_id")
      const isKnown = clients.get(client ?? "")?.includes(redirect) === true
      if (!isKnown || searchParams.get("code_challenge_method") !== "S256") return new Response(null, { status: 400 })
      const back = new URL(redirect)
      back.searchParams.set("state", searchParams.get("state") ?? "")
      const account = searchParams.get("account")
      if (account === null) back.searchParams.set("error", "access_denied")
      else {
        const code = randomUUID()
        codes.set(code, { account, challenge: searchParams.get("code_challenge") ?? "", client, redirect })
        back.searchParams.set("code", code)
      }
      return new Response(null, { status: 302, headers: { location: back.href } })
    }
    if (pathname === "/token") return token(new URLSearchParams(await request.text()))
    if (pathname !== "/mcp") return new Response(null, { status: 404 })
    if (access.has(request.headers.get("authorization")?.slice("Bearer ".length) ?? "")) return handler.fetch(request)
    const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource"`
    return new Response(null, { status: 401, headers: { "www-authenticate": challenge } })
  }

  const decide = async (address: string, account: string | null): Promise<string> => {
    const response = await fetch(account === null ? address : `${address}&account=${account}`, { redirect: "manual" })
    return response.headers.get("location") ?? ""
  }

  const served = await serve(answer)
  return {
    url: `${served.url}/mcp`,
    seen,
    /** What a browser does at the address: the user of `account` agrees, or refuses (null). It is sent back to the result. */
    decide,
    agree: async (address: string, account: string) => {
      const { searchParams } = new URL(await decide(address, account))
      return { code: searchParams.get("code") ?? "", state: searchParams.get("state") ?? "" }
    },
    /** Every token that is out. */
    tokens: () => [...access.keys(), ...refresh.keys()],
    /** The tokens that are out work no more; they can be refreshed. */
    expire: () => access.clear(),
    revoke: () => {
      access.clear()
      refresh.clear()
    },
    [Symbol.asyncDispose]: async () => {
      await handler.close()
      await served.stop()
    }
  }
}

/**
 * The API under `/ai` of a Fastify application, beside its own routes. Inside the scope Fastify does not parse the bodies. Fastify's hooks
 * and plugins put the session on Fastify's own request object, which `withSource` passes on.
 */
import { type HostCredentials, webHandler, withSource } from "@colloquy/http"
import fastify, { type FastifyRequest } from "fastify"
import { kernel } from "../kernel.ts"
import { sessionCookie, userFromCookie } from "../sessions.ts"

declare module "fastify" {
  interface FastifyRequest {
    userId: string | null
  }
}

const ai = webHandler({
  kernel,
  basePath: "/ai",
  authenticate: ({ source }: HostCredentials<FastifyRequest>) => source.userId
})

export const app = fastify()
app.decorateRequest("userId", null)
app.addHook("onRequest", async (request) => {
  request.userId = userFromCookie(request.headers.cookie)
})
app.get("/hello", async () => "Hello from Fastify")
app.post<{ Params: { name: string } }>("/login/:name", async (request, reply) =>
  reply.header("set-cookie", sessionCookie(request.params.name)).send()
)
await app.register(async (scope) => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser("*", (_request, _body, done) => done(null))
  scope.all("/ai/*", (request, reply) => ai.node(withSource(request.raw, request), reply.hijack().raw))
})

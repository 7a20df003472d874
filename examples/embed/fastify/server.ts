/** The API under `/ai` of a Fastify application, beside a route of its own. In its scope Fastify leaves the bodies alone. */
import { toNodeHandler } from "@colloquy/http/node"
import fastify from "fastify"
import { ai } from "../kernel.ts"

export const app = fastify()
app.get("/hello", async () => "Hello from Fastify")
await app.register(async (scope) => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser("*", (_request, _body, done) => done(null))
  scope.all("/ai/*", (request, reply) => toNodeHandler(ai.handler)(request.raw, reply.hijack().raw))
})

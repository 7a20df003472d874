/**
 * The API under `/ai` of a Hono application, beside its own routes. Its middleware keeps the user on the context, which `withSource` passes
 * on.
 */
import { type HostCredentials, webHandler, withSource } from "@colloquy/http"
import { type Context, Hono } from "hono"
import { kernel } from "../kernel.ts"
import { sessionCookie, userFromCookie } from "../sessions.ts"

interface Env {
  readonly Variables: { userId: string | null }
}

const ai = webHandler({
  kernel,
  basePath: "/ai",
  authenticate: ({ source }: HostCredentials<Context<Env>>) => source.get("userId")
})

export const app = new Hono<Env>()
app.use(async (context, next) => {
  context.set("userId", userFromCookie(context.req.header("cookie")))
  await next()
})
app.get("/hello", (context) => context.text("Hello from Hono"))
app.post("/login/:name", (context) =>
  context.body(null, 200, { "set-cookie": sessionCookie(context.req.param("name")) })
)
app.all("/ai/*", (context) => ai.handler(withSource(context.req.raw, context)))

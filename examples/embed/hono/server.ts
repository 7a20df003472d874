/** The API under `/ai` of a Hono application, beside a route of its own. */
import { Hono } from "hono"
import { ai } from "../kernel.ts"

export const app = new Hono()
app.get("/hello", (context) => context.text("Hello from Hono"))
app.all("/ai/*", (context) => ai.handler(context.req.raw))

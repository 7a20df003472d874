/** The API under `/ai` of an Express application, beside its own routes. The session of `express-session` identifies the user. */
import { type HostCredentials, webHandler } from "@colloquy/http"
import express from "express"
import session from "express-session"
import { kernel } from "../kernel.ts"

declare module "express-session" {
  interface SessionData {
    userId: string
  }
}

const ai = webHandler({
  kernel,
  basePath: "/ai",
  authenticate: ({ source }: HostCredentials<express.Request>) => source.session?.userId ?? null
})

export const app = express()
app.use(
  session({ secret: process.env["SESSION_SECRET"] ?? "for this example", resave: false, saveUninitialized: false })
)
app.get("/hello", (_request, response) => void response.send("Hello from Express"))
// A real host asks for a password here.
app.post("/login/:name", (request, response) => {
  request.session.userId = request.params.name
  response.end()
})
app.use("/ai", ai.node)

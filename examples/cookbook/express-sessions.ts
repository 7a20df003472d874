/** The API under `/ai` of an Express application: its session says who asks, and an answer that was cut off is resumed. */
import { Colloquy } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { say, scripted } from "colloquy/testing"
import express from "express"
import session from "express-session"

declare module "express-session" {
  interface SessionData {
    userId: string
  }
}

const providers = [scripted([say("Hello, ", "Ada.")])]
export const colloquy = await Colloquy.open({ store: inMemory(), providers, model: "scripted-model" })
const ai = await colloquy.handler<express.Request>({
  basePath: "/ai",
  authenticate: ({ source }) => source.session.userId ?? null
})

export const app = express()
app.use(session({ secret: process.env["SESSION_SECRET"] ?? "example", resave: false, saveUninitialized: false }))
app.post("/login/:name", (request, response) => {
  request.session.userId = request.params.name
  response.end()
})
app.use("/ai", ai.node)

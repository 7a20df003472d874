import { Colloquy } from "colloquy"
import { openai } from "colloquy/openai"
import { pglite } from "colloquy/pglite"
import express from "express"
import session from "express-session"

declare module "express-session" {
  interface SessionData {
    userId: string
  }
}

const {
  DATA_DIR: dataDir = "data",
  OPENAI_API_KEY: apiKey = "",
  OPENAI_BASE_URL: baseUrl = "https://api.openai.com/v1",
  PORT = "3000"
} = process.env
const colloquy = await Colloquy.open({
  store: pglite({ dataDir }),
  providers: [openai({ apiKey, baseUrl })],
  model: "gpt-5"
})
const ai = await colloquy.handler<express.Request>({
  basePath: "/ai",
  authenticate: ({ source }) => source.session.userId ?? null
})

const app = express()
app.use(session({ secret: "example", resave: false, saveUninitialized: false }))
app.post("/login/:name", (request, response) => {
  request.session.userId = request.params.name
  response.end()
})
app.use("/ai", ai.node)
app.listen(Number(PORT))

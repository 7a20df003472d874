/** The API under `/ai` of an Express application, beside a route of its own. */
import { toNodeHandler } from "@colloquy/http/node"
import express from "express"
import { ai } from "../kernel.ts"

export const app = express()
app.get("/hello", (_request, response) => void response.send("Hello from Express"))
app.use("/ai", toNodeHandler(ai.handler))

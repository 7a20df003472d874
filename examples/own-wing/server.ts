/** An Express application whose API knows one field, one event and one endpoint more: those of `Mood.ts`. */
import { webHandler } from "@colloquy/http"
import express from "express"
import * as Layer from "effect/Layer"
import { kernel } from "../embed/kernel.ts"
import { moodPart, moodWing } from "./Mood.ts"

const ai = webHandler({
  kernel: Layer.provideMerge(moodPart, kernel),
  basePath: "/ai",
  // A real host asks its sessions.
  authenticate: () => "ada",
  wings: [moodWing]
})

export const app = express()
app.use("/ai", ai.node)

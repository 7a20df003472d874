/** The API with the guard, for the service's own clients, `useChat` and OpenAI's clients. The model is a script. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel } from "@colloquy/core"
import { webHandler } from "@colloquy/http"
import { openai } from "@colloquy/http/openai"
import { ScriptedModel, type ScriptStep } from "@colloquy/testing"
import * as Layer from "effect/Layer"
import { redactingGuard } from "./Guard.ts"

export const service = (script: ReadonlyArray<ScriptStep>) => {
  const kernel = redactingGuard.pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(ScriptedModel.layer(script)),
    Layer.provide(InMemory.layer)
  )
  // A real host asks its sessions.
  return webHandler({ kernel, basePath: "/ai", authenticate: () => "ada", wings: [openai] })
}

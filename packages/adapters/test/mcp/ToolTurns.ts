/** Kernels with MCP servers whose model is scripted, for the tests of this folder. */
import { HostedTools, Kernel, type Principal, Turns } from "@colloquy/core"
import { ScriptedModel, type ScriptStep } from "@colloquy/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { fileURLToPath } from "node:url"
import { InMemory } from "../../src/in-memory/index.ts"
import { Mcp } from "../../src/mcp/index.ts"

export const program = (file: string, ...args: ReadonlyArray<string>) => ({
  command: process.execPath,
  args: ["--conditions=colloquy-source", fileURLToPath(new URL(file, import.meta.url)), ...args]
})

export const kernelWith = (servers: ReadonlyArray<Mcp.McpServer>, script: ReadonlyArray<ScriptStep>) =>
  Mcp.layer(servers, { startTimeout: "20 seconds" }).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(Layer.mergeAll(ScriptedModel.layer(script), InMemory.layer))
  )

export const toolNames = HostedTools.use((tools) =>
  Effect.sync(() => tools.all().map(({ definition }) => definition.name))
)

/** What the model was told by its tools in the last request. */
export const told = Effect.map(ScriptedModel, (model) =>
  (model.requests.at(-1)?.messages ?? []).flatMap((message) => (message.role === "tool" ? [message.output] : []))
)

export const send = Turns.use((turns) => turns.send({ content: "?" }))

export const untilOffered = (wanted: (all: ReadonlyArray<string>) => boolean) =>
  Effect.repeat(toolNames, { until: wanted, schedule: Schedule.spaced("10 millis") })

export type ToolTurn = Turns | HostedTools | ScriptedModel | Principal

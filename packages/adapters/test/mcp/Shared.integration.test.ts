/** Resources and prompts of a server, as tools of the model. */
import { Principal } from "@colloquy/core"
import { callTool, callTools, say } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { openDesk } from "./DeskServer.ts"
import { kernelWith, program, send, told, toolNames } from "./ToolTurns.ts"

const desk = Effect.acquireRelease(
  Effect.promise(() => openDesk()),
  (each) => Effect.promise(() => each[Symbol.asyncDispose]())
)

it.live("resources are listed and read, prompts are listed and filled in, and what is wrong is told", () =>
  Effect.gen(function* () {
    const { url } = yield* desk
    const script = [
      callTools(
        ["desk_resources", {}, "a"],
        ["desk_resources", { uri: "desk://menu" }, "b"],
        ["desk_resources", { uri: "desk://nothing" }, "c"],
        ["desk_prompts", {}, "d"],
        ["desk_prompts", { name: "greet", arguments: { guest: "Ada" } }, "e"],
        ["desk_prompts", { name: "greet" }, "f"],
        ["desk_resources", { uri: "desk://book" }, "g"],
        ["desk_revision", {}, "h"]
      ),
      say("Done.")
    ]
    yield* Effect.gen(function* () {
      yield* send
      const [list, menu, missing, prompts, greeting, wrong, book, revision] = yield* told
      assert.strictEqual(list, "desk://menu, menu, text/plain, What there is\ndesk://book, book")
      assert.strictEqual(menu, "Soup\n[file desk://photo of type image/png, not shown]")
      assert.match(missing ?? "", /^Error: .*desk:\/\/nothing/u)
      assert.strictEqual(prompts, "greet, Greets a guest (arguments: guest)")
      assert.strictEqual(greeting, "user: Greet Ada.")
      assert.match(wrong ?? "", /^Error: /u)
      assert.isAtMost(book?.length ?? 0, 200_000)
      assert.strictEqual(revision, "modern", "the connection is well")
    }).pipe(Principal.provide("ada"), Effect.provide(kernelWith([{ name: "desk", url }], script)))
  }).pipe(Effect.scoped)
)

it.live("a host leaves them out by name, and a server without any has no such tools", () =>
  Effect.gen(function* () {
    const { url } = yield* desk
    const servers = [
      { name: "desk", url, tools: (name: string) => name === "revision" || name === "prompts" },
      { name: "plain", ...program("ToolServerProcess.ts"), tools: (name: string) => name !== "book" }
    ]
    yield* Effect.gen(function* () {
      const names = yield* toolNames
      assert.includeMembers([...names], ["desk_revision", "desk_prompts", "plain_echo"])
      assert.notIncludeMembers([...names], ["desk_resources", "plain_resources", "plain_prompts"])
      yield* send
      assert.match((yield* told)[0] ?? "", /no tool named/u)
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(kernelWith(servers, [callTool("desk_resources", {}), say("Done.")]))
    )
  }).pipe(Effect.scoped)
)

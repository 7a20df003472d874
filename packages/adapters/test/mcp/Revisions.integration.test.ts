/** Which revision of the protocol is spoken with which server: each speaks the newest that both know. */
import { Principal } from "@colloquy/core"
import { callTool, say } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makeDesk, openDesk } from "./DeskServer.ts"
import { kernelWith, program, send, told, toolNames, untilOffered } from "./ToolTurns.ts"

const script = [callTool("desk_revision", {}), say("Done.")]

describe("a server of 2026", () => {
  it.live("is asked without a handshake over HTTP, each request for itself", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const desk = yield* Effect.acquireRelease(
          Effect.promise(() => openDesk()),
          (each) => Effect.promise(() => each[Symbol.asyncDispose]())
        )
        yield* Effect.gen(function* () {
          yield* send
          assert.deepStrictEqual(yield* told, ["modern"])
        }).pipe(Principal.provide("ada"), Effect.provide(kernelWith([{ name: "desk", url: desk.url }], script)))
        const methods = desk.seen.map(({ method }) => method)
        assert.notInclude(methods, "initialize")
        assert.includeMembers(methods, ["server/discover", "tools/list", "tools/call"])
        assert.deepStrictEqual([...new Set(desk.seen.map(({ revision }) => revision))], ["2026-07-28"])
      })
    )
  )

  it.live("is followed when its list changes", () =>
    Effect.scoped(
      Effect.gen(function* () {
        let hasMore = false
        const desk = yield* Effect.acquireRelease(
          Effect.promise(() =>
            openDesk((context) => {
              const server = makeDesk(context)
              if (hasMore) server.registerTool("more", {}, () => ({ content: [] }))
              return server
            })
          ),
          (each) => Effect.promise(() => each[Symbol.asyncDispose]())
        )
        yield* Effect.gen(function* () {
          assert.include(yield* toolNames, "desk_revision")
          hasMore = true
          desk.notify.toolsChanged()
          yield* untilOffered((all) => all.includes("desk_more"))
        }).pipe(Principal.provide("ada"), Effect.provide(kernelWith([{ name: "desk", url: desk.url }], [])))
      })
    )
  )

  it.live("is asked so as a program too", () =>
    Effect.gen(function* () {
      yield* send
      assert.deepStrictEqual(yield* told, ["modern"])
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(kernelWith([{ name: "desk", ...program("DeskProcess.ts") }], script))
    )
  )
})

it.live("an older program that ends at the newest question is started again, and begins with a handshake", () =>
  Effect.gen(function* () {
    yield* send
    assert.deepStrictEqual(yield* told, ["well"])
  }).pipe(
    Principal.provide("ada"),
    Effect.provide(
      kernelWith(
        [{ name: "old", ...program("HostileProcess.ts", "handshake") }],
        [callTool("old_echo", {}), say("Done.")]
      )
    )
  )
)

it.live("an older program that does not answer the newest question is offered after it", () =>
  untilOffered((all) => all.includes("old_echo")).pipe(
    Principal.provide("ada"),
    Effect.provide(kernelWith([{ name: "old", ...program("HostileProcess.ts", "unheard") }], []))
  )
)

import { Catalog, HostModels, type ModelInfo, type Provider, Providers } from "@colloquy/core"
import { describeModel, ModelError } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"

const entry = (provider: string, name: string, known: Partial<ModelInfo> = {}): ModelInfo =>
  describeModel({ provider, name, modelType: "llm", ...known })

/** A provider that counts how often it is asked for its models. */
const listing = (id: string, ...answers: ReadonlyArray<ReadonlyArray<ModelInfo> | "down">) => {
  const asked = { times: 0 }
  const provider: Provider = {
    id,
    listModels: Effect.suspend(() => {
      const answer = answers[Math.min(asked.times++, answers.length - 1)] ?? "down"
      return answer === "down"
        ? Effect.fail(new ModelError({ reason: "connection", provider: id, model: "" }))
        : Effect.succeed(answer)
    })
  }
  return { provider, asked }
}

const catalog = (providers: ReadonlyArray<Provider>, host: ReadonlyArray<ModelInfo> = []) =>
  Catalog.layer.pipe(
    Layer.provide(Providers.layer({ providers, defaults: { provider: "a", model: "m" } })),
    Layer.provide(Layer.succeed(HostModels, host))
  )

const everything = { skip: 0, limit: 100 }

describe("the catalogue", () => {
  it.effect("holds what all providers list, by provider and name, and what the host adds", () => {
    const b = listing("b", [entry("b", "zeta"), entry("b", "alpha")])
    const a = listing("a", [entry("a", "omega")])
    return Effect.gen(function* () {
      const { list } = yield* Catalog
      const { models, total } = yield* list({}, everything)
      assert.deepStrictEqual(
        models.map((model) => `${model.provider}/${model.name}`),
        ["a/omega", "b/alpha", "b/zeta", "c/own"]
      )
      assert.strictEqual(total, 4)
      const second = yield* list({}, { skip: 1, limit: 2 })
      assert.deepStrictEqual([second.models.map((model) => model.name), second.total], [["alpha", "zeta"], 4])
    }).pipe(Effect.provide(catalog([b.provider, a.provider], [entry("c", "own")])))
  })

  it.effect("lets the host correct a field, and keep the rest", () => {
    const a = listing("a", [entry("a", "m", { contextLimit: 1000, displayName: "Em" })])
    return Effect.gen(function* () {
      const found = yield* (yield* Catalog).find("m")
      assert.deepStrictEqual([found.contextLimit, found.displayName], [2000, "Em"])
    }).pipe(Effect.provide(catalog([a.provider], [entry("a", "m", { contextLimit: 2000 })])))
  })

  it.effect("has a model of several types once for each; by its name alone it is the one to talk to", () => {
    const a = listing("a", [entry("a", "both", { modelType: "image", displayName: "Paints" }), entry("a", "both")])
    return Effect.gen(function* () {
      const { describe: lookUp, find, list } = yield* Catalog
      const types = (yield* list({}, everything)).models.map(({ modelType }) => modelType)
      assert.sameMembers(types, ["image", "llm"])
      assert.strictEqual((yield* find("both")).modelType, "llm")
      assert.strictEqual((yield* find("both", "image")).displayName, "Paints")
      assert.strictEqual((yield* lookUp("a", "both", "image")).displayName, "Paints")
    }).pipe(Effect.provide(catalog([a.provider])))
  })

  it.effect("filters by type, provider, tools and context; what is not known fits no bound", () => {
    const a = listing("a", [
      entry("a", "big", { contextLimit: 200_000, supportsTools: true }),
      entry("a", "small", { contextLimit: 4000, supportsTools: false }),
      entry("a", "dark"),
      entry("a", "vector", { modelType: "embedding" })
    ])
    return Effect.gen(function* () {
      const { list, providers } = yield* Catalog
      const names = (filter: Parameters<typeof list>[0]) =>
        Effect.map(list(filter, everything), ({ models }) => models.map((model) => model.name))
      assert.deepStrictEqual(yield* names({ modelType: "embedding" }), ["vector"])
      assert.deepStrictEqual(yield* names({ provider: "nobody" }), [])
      assert.deepStrictEqual(yield* names({ supportsTools: true }), ["big"])
      assert.deepStrictEqual(yield* names({ minContext: 5000 }), ["big"])
      assert.deepStrictEqual(yield* names({ maxContext: 5000 }), ["small"])
      assert.deepStrictEqual(yield* providers("embedding"), ["a"])
      assert.deepStrictEqual(yield* providers("video"), [])
    }).pipe(Effect.provide(catalog([a.provider])))
  })

  it.effect("asks a provider again after ten minutes, and after half a minute when it was down", () => {
    const sound = listing("a", [entry("a", "m")])
    const flaky = listing("b", "down", [entry("b", "m")])
    return Effect.gen(function* () {
      const { list } = yield* Catalog
      const total = Effect.map(list({}, everything), (found) => found.total)
      assert.strictEqual(yield* total, 1)
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual(yield* total, 2)
      assert.deepStrictEqual([sound.asked.times, flaky.asked.times], [1, 2])
      yield* TestClock.adjust("10 minutes")
      yield* total
      assert.strictEqual(sound.asked.times, 2)
    }).pipe(Effect.provide(catalog([sound.provider, flaky.provider])))
  })

  it.effect("leaves a provider behind that neither answers nor can be stopped", () => {
    const stuck: Provider = { id: "stuck", listModels: Effect.uninterruptible(Effect.never) }
    const well = listing("well", [entry("well", "one")])
    return Effect.gen(function* () {
      const asked = yield* Effect.forkChild((yield* Catalog).list({}, everything))
      yield* TestClock.adjust("21 seconds")
      assert.deepStrictEqual(
        (yield* Fiber.join(asked)).models.map(({ name }) => name),
        ["one"]
      )
    }).pipe(Effect.provide(catalog([stuck, well.provider])))
  })

  it.effect("leaves out a provider whose list has a defect, and shows the models of the others", () => {
    const broken: Provider = {
      id: "broken",
      listModels: Effect.die(new TypeError("a fault")),
      listUpstreams: Effect.die(new TypeError("a fault")),
      video: {
        submit: () => Effect.die("not called"),
        status: () => Effect.die("not called"),
        content: () => Stream.die("not called"),
        listModels: Effect.die(new TypeError("a fault"))
      }
    }
    const well = listing("well", [entry("well", "one")])
    return Effect.gen(function* () {
      const { describe: lookUp, list, upstreams, video } = yield* Catalog
      const { models } = yield* list({}, everything)
      assert.deepStrictEqual(
        models.map(({ name }) => name),
        ["one"]
      )
      assert.deepStrictEqual(yield* upstreams, [])
      assert.strictEqual((yield* lookUp("broken", "m", "llm")).name, "m")
      assert.strictEqual((yield* Effect.flip(video("broken", "clip"))).reason, "unknown")
    }).pipe(Effect.provide(catalog([broken, well.provider])))
  })

  it.effect("never makes a turn wait: a list that is not there yet is known the next time", () => {
    const a = listing("a", [entry("a", "m", { contextLimit: 1000 })])
    return Effect.gen(function* () {
      const { known } = yield* Catalog
      assert.strictEqual(yield* known("a", "m"), undefined)
      yield* Effect.yieldNow
      assert.strictEqual((yield* known("a", "m"))?.contextLimit, 1000)
      assert.strictEqual(yield* known("a", "other"), undefined)
      assert.strictEqual(yield* known("nobody", "m"), undefined)
      assert.strictEqual(a.asked.times, 1)
    }).pipe(Effect.provide(catalog([a.provider])))
  })

  it.effect("tells when a list was fetched, and nothing of that for what only the host knows", () => {
    const a = listing("a", [entry("a", "m")])
    return Effect.gen(function* () {
      yield* TestClock.setTime(1000)
      const { models } = yield* (yield* Catalog).list({}, everything)
      assert.deepStrictEqual(
        models.map(({ lastUpdated, name }) => [name, lastUpdated?.getTime()]),
        [
          ["m", 1000],
          ["own", undefined]
        ]
      )
    }).pipe(Effect.provide(catalog([a.provider], [entry("a", "m", { contextLimit: 1 }), entry("a", "own")])))
  })

  it.effect("lists upstreams by provider and name, asks again after an hour, and leaves out who is down", () => {
    let asked = 0
    const upstream = (name: string) => ({ id: name.toLowerCase(), name, offers: [] })
    const router: Provider = {
      id: "router",
      listUpstreams: Effect.sync(() => {
        asked++
        return [upstream("Zeta"), upstream("Alpha")]
      })
    }
    const down: Provider = {
      id: "down",
      listUpstreams: Effect.fail(new ModelError({ reason: "connection", provider: "down", model: "" }))
    }
    return Effect.gen(function* () {
      const { upstreams } = yield* Catalog
      const names = Effect.map(upstreams, (found) => found.map(({ name, provider }) => `${provider}: ${name}`))
      for (const pause of ["0 seconds", "59 minutes", "2 minutes"] as const) {
        yield* TestClock.adjust(pause)
        assert.deepStrictEqual(yield* names, ["router: Alpha", "router: Zeta"])
      }
      assert.strictEqual(asked, 2)
    }).pipe(Effect.provide(catalog([router, down, { id: "plain" }])))
  })

  it.effect("says so when there is no such model", () =>
    Effect.gen(function* () {
      const missing = yield* Effect.flip((yield* Catalog).find("ghost"))
      assert.strictEqual(missing._tag, "ModelNotFound")
    }).pipe(Effect.provide(catalog([])))
  )
})

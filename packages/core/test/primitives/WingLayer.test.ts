// How a host adds a wing: settings as an argument, at every depth, or from the configuration of the program.
import { assert, describe, it } from "@effect/vitest"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { wingLayers } from "../../src/primitives/WingLayer.ts"

interface Settings {
  readonly batch: number
  readonly model: { readonly name: string; readonly retries: number } | null
  readonly limits: { readonly image: number; readonly video: number }
}

const Settings = Context.Reference<Settings>("test/WingLayer/Settings", {
  defaultValue: () => ({ batch: 1, model: null, limits: { image: 10, video: 20 } })
})

class Wing extends Context.Service<Wing, Settings>()("test/WingLayer/Wing") {}

const { layer, layerConfig } = wingLayers(Settings, Layer.effect(Wing, Settings))

const built = <E>(wing: Layer.Layer<Wing, E>) => Effect.provide(Wing, wing)

describe("a wing", () => {
  it.effect("has its defaults where the host gives nothing", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* built(layer()), { batch: 1, model: null, limits: { image: 10, video: 20 } })
    })
  )

  it.effect("takes what the host changes, at every depth", () =>
    Effect.gen(function* () {
      const given = layer({ model: { name: "m", retries: 2 }, limits: { video: 5 } })
      assert.deepStrictEqual(yield* built(given), {
        batch: 1,
        model: { name: "m", retries: 2 },
        limits: { image: 10, video: 5 }
      })
    })
  )

  it.effect("is not changed by a reference of the same name outside of it", () =>
    Effect.gen(function* () {
      const outside = Layer.succeed(Settings, { batch: 7, model: null, limits: { image: 1, video: 1 } })
      assert.strictEqual((yield* built(Layer.provide(layer(), outside))).batch, 1)
    })
  )

  it.effect("takes settings from the configuration of the program, and says what is wrong there", () =>
    Effect.gen(function* () {
      const configured = built(layerConfig({ batch: Config.Int("BATCH"), limits: { image: Config.Int("IMAGE") } }))
      const from = (env: Record<string, string>) =>
        Effect.provide(configured, ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
      assert.deepStrictEqual(yield* from({ BATCH: "3", IMAGE: "4" }), {
        batch: 3,
        model: null,
        limits: { image: 4, video: 20 }
      })
      assert.include(String(yield* Effect.flip(from({ BATCH: "three", IMAGE: "4" }))), "BATCH")
    })
  )
})

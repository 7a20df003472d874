// How a host adds a wing: settings as an argument, at every depth, or from the configuration of the program.
import { assert, describe, it } from "@effect/vitest"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
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

  it.effect("is told all that is wrong in the configuration of the program, at every depth", () =>
    Effect.gen(function* () {
      const configured = built(
        layerConfig({
          batch: Config.Int("BATCH"),
          model: Config.all({ name: Config.String("MODEL"), retries: Config.succeed(1) }),
          limits: { image: Config.Int("IMAGE"), video: Config.withDefault(Config.Int("VIDEO"), 5) }
        })
      )
      const provider = ConfigProvider.layer(ConfigProvider.fromEnv({ env: { BATCH: "three", VIDEO: "five" } }))
      const { _tag, message } = yield* Effect.flip(Effect.provide(configured, provider))
      assert.strictEqual(_tag, "ConfigError")
      assert.deepStrictEqual(message.match(/(?<=")[A-Z]+(?=")/gu), ["BATCH", "MODEL", "IMAGE", "VIDEO"])
    })
  )
})

interface ManySettings {
  readonly batch: number
  readonly share: number
  readonly poll: Duration.Input
  readonly order: "newest" | "oldest"
  readonly isOn: boolean
  readonly age: Duration.Input | null
  readonly model: { readonly name: string; readonly retries: number } | null
  readonly limits: { readonly image: number }
  readonly names: ReadonlyArray<string>
}

const ManySettings = Context.Reference<ManySettings>("@colloquy/core/many/ManySettings", {
  defaultValue: () => ({
    batch: 1,
    share: 0.5,
    poll: "1 second",
    order: "newest",
    isOn: false,
    age: null,
    model: null,
    limits: { image: 10 },
    names: []
  })
})

const many = wingLayers(ManySettings, Layer.empty, {
  positive: ["batch", "poll"],
  words: { order: ["newest", "oldest"] },
  orNull: { age: "1 day", model: { name: "", retries: 0 } },
  unchecked: ["names"],
  problems: ({ batch, limits }) => (batch <= limits.image ? [] : ["`batch` must not be above `limits.image`."])
})

/** As plain JavaScript may give them. */
const problemsWith = (settings: object) =>
  Effect.map(Effect.result(Layer.build(many.layer(settings))), (result) =>
    Result.isFailure(result) ? result.failure.problems : []
  )

describe("wrong settings of a wing", () => {
  for (const [settings, problem] of [
    [{ batch: 0 }, "`batch` must be a whole number above 0, and is 0."],
    [{ batch: -1 }, "`batch` must be a whole number above 0, and is -1."],
    [{ batch: 2.5 }, "`batch` must be a whole number above 0, and is 2.5."],
    [{ batch: Number.NaN }, "`batch` must be a whole number above 0, and is NaN."],
    [{ batch: Number.POSITIVE_INFINITY }, "`batch` must be a whole number above 0, and is Infinity."],
    [{ batch: "7" }, '`batch` must be a whole number above 0, and is "7".'],
    [{ batch: null }, "`batch` must be a whole number above 0, and is null."],
    [{ share: -0.5 }, "`share` must be a number from 0, and is -0.5."],
    [{ share: Number.NaN }, "`share` must be a number from 0, and is NaN."],
    [{ poll: "0 seconds" }, '`poll` must be a duration above 0, such as "5 seconds", and is "0 seconds".'],
    [{ poll: "5 secs" }, '`poll` must be a duration above 0, such as "5 seconds", and is "5 secs".'],
    [{ poll: "-5 seconds" }, '`poll` must be a duration above 0, such as "5 seconds", and is "-5 seconds".'],
    [{ poll: Number.NaN }, '`poll` must be a duration above 0, such as "5 seconds", and is NaN.'],
    [{ poll: "" }, '`poll` must be a duration above 0, such as "5 seconds", and is "".'],
    [{ poll: null }, '`poll` must be a duration above 0, such as "5 seconds", and is null.'],
    [{ order: "random" }, '`order` must be "newest" or "oldest", and is "random".'],
    [{ isOn: "yes" }, '`isOn` must be a boolean, and is "yes".'],
    [{ age: "soon" }, '`age` must be null or a duration from 0, such as "5 seconds", and is "soon".'],
    [{ model: "gpt" }, '`model` must be null or an object, and is "gpt".'],
    [{ model: { name: 7, retries: 1 } }, "`model.name` must be a string, and is 7."],
    [{ model: { name: "m" } }, "`model.retries` is missing."],
    [{ limits: 5 }, "`limits` must be an object, and is 5."],
    [{ limits: { image: -1 } }, "`limits.image` must be a whole number from 0, and is -1."],
    [{ limits: { video: 1 } }, "There is no setting `limits.video`; there are image."],
    [{ batch: 11 }, "`batch` must not be above `limits.image`."]
  ] as const) {
    it.effect(`are told: ${problem}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* problemsWith(settings), [problem])
      })
    )
  }

  it.effect("are told together, with the name of the wing, before anything is built", () =>
    Effect.gen(function* () {
      const given: object = { batch: 0, poll: "x", bacth: 2 }
      const { message } = yield* Effect.flip(Layer.build(many.layer(given)))
      assert.strictEqual(
        message,
        'The settings of "many" cannot be used. `batch` must be a whole number above 0, and is 0. ' +
          '`poll` must be a duration above 0, such as "5 seconds", and is "x". There is no setting `bacth`; ' +
          "there are batch, share, poll, order, isOn, age, model, limits, names."
      )
    })
  )

  it.effect("are told of those that come from the configuration, too", () =>
    Effect.gen(function* () {
      const provider = ConfigProvider.layer(ConfigProvider.fromEnv({ env: { BATCH: "-3" } }))
      const configured = Layer.provide(many.layerConfig({ batch: Config.Int("BATCH") }), provider)
      assert.strictEqual((yield* Effect.flip(Layer.build(configured)))._tag, "SettingsUnusable")
    })
  )

  it.effect("are not those that are right in another form", () =>
    Effect.gen(function* () {
      const right = [
        { poll: 5 },
        { poll: Duration.seconds(5) },
        { poll: "Infinity" },
        { poll: { minutes: 1 } },
        { age: null, model: null },
        { age: "0 seconds", model: { name: "m", retries: 0 } },
        { share: 1, batch: undefined, limits: {}, names: 7 }
      ]
      assert.deepStrictEqual((yield* Effect.forEach(right, problemsWith)).flat(), [])
    })
  )
})

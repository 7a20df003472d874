/** The contract of `PictureConverter`. The suite knows no format: the adapter's test brings the pictures. */
import { type Picture, PictureConverter, type PictureLimits } from "@colloquy/core/documents"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"

/** Pictures that can be converted, and files that cannot. */
export interface PictureSamples {
  /** Pictures of types that models do not read, or that are larger than `limits`. */
  readonly convertible: ReadonlyArray<readonly [what: string, picture: Picture]>
  readonly unreadable: ReadonlyArray<readonly [what: string, picture: Picture]>
  readonly limits: PictureLimits
  /** The pixels of the longer side. */
  readonly measureSide: (picture: Picture) => Effect.Effect<number>
}

const converted = Effect.fnUntraced(function* (picture: Picture, limits: PictureLimits) {
  const converter = yield* PictureConverter
  if (converter === null) return yield* Effect.die(new Error("There is no converter."))
  assert.isTrue(converter.reads(picture.mimeType))
  return yield* converter.convert(picture, limits)
})

/** What every converter of pictures must do. */
export const pictureConverterSuite = (
  name: string,
  converter: Layer.Layer<never, unknown>,
  samples: Effect.Effect<PictureSamples>
): void =>
  layer(converter, { excludeTestServices: true, timeout: "1 minute" })(
    `the contract of PictureConverter: ${name}`,
    (it) => {
      it.effect("MUST return a picture that models read, within the limits, with equal bytes for equal input", () =>
        Effect.gen(function* () {
          const { convertible, limits, measureSide } = yield* samples
          for (const [what, picture] of convertible) {
            const result = yield* converted(picture, limits)
            assert.include(["image/png", "image/jpeg", "image/webp", "image/gif"], result.mimeType, what)
            assert.isAtMost(result.bytes.length, limits.bytes, what)
            assert.isAtMost(yield* measureSide(result), limits.side, what)
            assert.deepStrictEqual(yield* converted(picture, limits), result, what)
          }
        })
      )

      it.effect("MUST refuse a picture that is damaged or unpacks to too much, and convert the next one", () =>
        Effect.gen(function* () {
          const { convertible, limits, unreadable } = yield* samples
          for (const [what, picture] of unreadable) {
            assert.strictEqual((yield* Effect.flip(converted(picture, limits)))._tag, "PictureUnreadable", what)
          }
          for (const [, picture] of convertible.slice(0, 1)) yield* converted(picture, limits)
        })
      )
    }
  )

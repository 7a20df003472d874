/** The rooms of pictures and clips that models make: `images()` and `videos()`. They add `images` and `videos` of messages, and `media`. */
import { Catalog, Providers, type Provider } from "@colloquy/core"
import { type CatalogEntry, maximumLimit } from "@colloquy/core/adapters"
import { DocumentLinks } from "@colloquy/core/documents"
import {
  type GeneratedMedia,
  Images,
  imagePartName,
  mediaGenerated,
  mediaIn,
  type MediaSettings,
  Videos,
  videoPartName,
  type VideoSettings
} from "@colloquy/core/media"
import {
  type CallOptions,
  type Room,
  room,
  type RoomFunctions,
  type RoomTypes,
  type RunCall,
  withOptions
} from "@colloquy/core/promises"
import { readMedium } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import { type DeepPartial } from "@colloquy/core/adapters"
import type { RoomNeeds } from "../Store.ts"

export type { GeneratedMedia } from "@colloquy/core/media"

/** The model that makes the media. An absent field has the value of the room. */
export interface MediaWish {
  readonly provider?: string
  readonly model?: string
  readonly config?: Schema.JsonObject
}

interface MediaTypes<Field extends "images" | "videos"> extends RoomTypes {
  readonly calls: object
  /** `auto`: the model may make some. */
  readonly request: { readonly [Name in Field]?: "auto" | "off" | MediaWish }
  readonly reply: { readonly media: ReadonlyArray<GeneratedMedia> }
  readonly event: { readonly _tag: "MediaGenerated"; readonly sequence: number; readonly media: GeneratedMedia }
}

/** The models that make clips: `colloquy.videos`. */
export interface VideoCalls {
  /** The models that make clips, as their providers list them now. */
  readonly models: (options?: CallOptions) => Promise<ReadonlyArray<CatalogEntry>>
}

interface VideoTypes extends MediaTypes<"videos"> {
  readonly calls: { readonly videos: VideoCalls }
}

/** What `images()` gives. */
export type ImagesRoom = Room<MediaTypes<"images">, RoomNeeds>
/** What `videos()` gives. */
export type VideosRoom = Room<VideoTypes, RoomNeeds>

/** `provider` and `model` are those of messages with `images: "auto"`. Default provider: the first one that makes pictures. */
export const images = ({
  config,
  model,
  provider,
  ...given
}: MediaWish & DeepPartial<MediaSettings> = {}): ImagesRoom =>
  room<MediaTypes<"images">>()(
    Images.layer(given),
    Effect.map(Providers, ({ all }): RoomFunctions<MediaTypes<"images">> => {
      const usual = usualWish({ config, model, provider }, all, ({ image }) => image !== undefined)
      return {
        name: imagePartName,
        fields: ["images"],
        begin: ({ images: wish }, request, next) => next(withWish(request, imagePartName, wish, usual)),
        ...shown
      }
    })
  )

/** Like `images`, for clips. */
export const videos = ({
  config,
  model,
  provider,
  ...given
}: MediaWish & DeepPartial<VideoSettings> = {}): VideosRoom =>
  room<VideoTypes>()(
    Layer.provide(Videos.layer(given), DocumentLinks.layer),
    Effect.gen(function* () {
      const usual = usualWish({ config, model, provider }, (yield* Providers).all, ({ video }) => video !== undefined)
      const catalog = yield* Catalog
      const listed = Effect.map(
        catalog.list({ modelType: "video" }, { skip: 0, limit: maximumLimit }),
        ({ models }) => models
      )
      const functions: RoomFunctions<VideoTypes> = {
        name: videoPartName,
        fields: ["videos"],
        calls: (run: RunCall) => ({ videos: { models: (options) => run(() => listed, options) } }),
        begin: ({ videos: wish }, request, next) => next(withWish(request, videoPartName, wish, usual)),
        ...shown
      }
      return functions
    })
  )

type Wish = MediaWish | "auto" | "off" | undefined
interface Usual {
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly config?: Schema.JsonObject | undefined
}

const usualWish = ({ provider, ...rest }: Usual, all: ReadonlyArray<Provider>, makes: (one: Provider) => boolean) => ({
  ...rest,
  provider: provider ?? all.find(makes)?.id
})

/** What is missing is refused by the part, with a sentence. */
const withWish = <Request extends Parameters<typeof withOptions>[0]>(
  request: Request,
  part: string,
  wish: Wish,
  usual: Usual
) => {
  if (wish === undefined || wish === "off") return request
  return withOptions(request, part, { ...givenFields(usual), ...(wish === "auto" ? {} : givenFields(wish)) })
}

const givenFields = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** Both rooms show the media of both, so that a reply of a kernel with both has all of them. */
const shown: Pick<RoomFunctions<MediaTypes<never>>, "event" | "reply"> = {
  reply: ({ supplements }) =>
    Effect.succeed({ media: [imagePartName, videoPartName].flatMap((part) => mediaIn(supplements[part] ?? null)) }),
  event: ({ data, part, sequence, type }) => {
    if (type !== mediaGenerated || (part !== imagePartName && part !== videoPartName)) return null
    return Option.match(readMedium(data), {
      onNone: () => null,
      onSome: (media) => ({ _tag: "MediaGenerated", sequence, media })
    })
  }
}

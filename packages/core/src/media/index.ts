/** The wing `media`: pictures and videos that a model makes in a turn. `ARCHITECTURE.md` explains how it joins a turn. */
import { wingLayers } from "../primitives/WingLayer.ts"
import { imagePart } from "./ImagePart.ts"
import { MediaSettings } from "./MediaSettings.ts"
import { videoPart } from "./VideoPart.ts"
import { VideoSettings } from "./VideoSettings.ts"

export { GeneratedMedia, mediaGenerated, mediaIn, MediaType, readMedium, shareMedia } from "./GeneratedMedia.ts"
export { imagePartName } from "./ImagePart.ts"
export { defaultMediaSettings, type MediaSettings } from "./MediaSettings.ts"
export { MediaRefused } from "./InspectMedia.ts"
export { MediaStorage, type NewMedia } from "./MediaStorage.ts"
export { videoPartName } from "./VideoPart.ts"
export { defaultVideoSettings, type VideoSettings } from "./VideoSettings.ts"

/** Pictures in turns: `Images.layer()` over the kernel and the stores of documents. */
export const Images = wingLayers(MediaSettings, imagePart, { positive: ["maxInputSize", "imageTimeout"] })

/** Clips in turns. Vendors fetch sound and clips of an order by addresses, so `Videos.layer()` also needs `DocumentLinks.layer`. */
export const Videos = wingLayers(VideoSettings, videoPart, {
  positive: [
    "pollLimit",
    "firstPause",
    "longestPause",
    "downloadTime",
    "downloadAttempts",
    "referenceLifetime",
    "maxSize"
  ]
})

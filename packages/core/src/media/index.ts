/** The wing `media`: pictures and videos that a model makes in a turn. `ARCHITECTURE.md` explains how it joins a turn. */
export { GeneratedMedia, mediaGenerated, mediaIn, MediaType, mediumOf, shareMedia } from "./GeneratedMedia.ts"
export { imagePart, imagePartName } from "./ImagePart.ts"
export { defaultMediaSettings, MediaSettings } from "./MediaSettings.ts"
export { MediaRefused } from "./InspectMedia.ts"
export { MediaStorage, type NewMedia } from "./MediaStorage.ts"
export { videoPart, videoPartName } from "./VideoPart.ts"
export { defaultVideoSettings, VideoSettings } from "./VideoSettings.ts"

/**
 * Pure: the texts for a model about a video that it ordered. The model must tell the user what happened, and must not order again without
 * being asked.
 */
import type * as Schema from "effect/Schema"
import type { ModelError } from "../models/ModelError.ts"
import { mayHaveBeenOrdered, type VideoJob } from "../models/VideoModel.ts"
import type { GeneratedMedia } from "./GeneratedMedia.ts"
import type { VideoEnd } from "./VideoJobStep.ts"
import type { VideoProblem } from "./VideoConfig.ts"

const notAgain = "Do not order it again unless the user asks for it."

const ends: { readonly [End in VideoEnd]: string } = {
  failed:
    "The provider could not make the video. Nothing was stored. A changed prompt may succeed; ask the user first.",
  cancelled: `The provider cancelled the video. Nothing was stored. ${notAgain}`,
  expired: `The video expired at the provider before it could be fetched. Nothing was stored. ${notAgain}`,
  timed_out: `The video was not ready within the time for which this server waits. The provider may still be making it, and may charge for it. ${notAgain}`,
  unknown: `The provider does not know the job of this video any more. It may have been charged. ${notAgain}`,
  unseen: `The provider no longer reports the state of the video. It may still be making it, and may charge for it. ${notAgain}`
}

/** The provider's own text is in a separate field and cut short, because it is not a text of this server. */
export const wordsOfEnd = (end: VideoEnd, job: Pick<VideoJob, "id" | "problem">): Schema.JsonObject => ({
  status: end,
  job_id: job.id,
  message: ends[end],
  ...(end === "failed" && job.problem !== null ? { provider_message: job.problem.slice(0, 500) } : {})
})

export const wordsOfClip = (clip: GeneratedMedia, dropped: ReadonlyArray<string>): Schema.JsonObject => ({
  status: "completed",
  document_id: clip.documentId,
  media_type: clip.mediaType,
  mime_type: clip.mimeType,
  message: "The video is stored and shown to the user already. Write no address for it.",
  ...(dropped.length === 0
    ? {}
    : { dropped: `These arguments had no effect, because the user's settings decide: ${dropped.join(", ")}.` })
})

/** The error of an order that was refused, or whose arrival is unknown. */
export const wordsOfRefusedOrder = (error: ModelError): string =>
  mayHaveBeenOrdered(error)
    ? `It is not known whether the provider took the order of this video, so it may be making it, and may charge for it. ${notAgain} ${error.message}`
    : `The provider did not take the order, and no video is being made. ${error.message}`

export const wordsOfLostClip = (reason: string): string =>
  `The video was made and may have been charged, but it could not be stored. ${notAgain} ${reason}`

export const wordsOfProblems = (problems: ReadonlyArray<VideoProblem>): string =>
  `No video was ordered. ${problems.map(({ message, path }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`)).join(" ")}`

/**
 * OpenRouter's video API: a request to make a video, its job, and the bytes of the video. Used by `providers/OpenRouter`.
 *
 * All URLs are built from the base URL and the job's id. URLs in an answer (`polling_url`, `unsigned_urls`) and redirects are not followed, so
 * that an answer cannot make this server send the key or a request to another address.
 */
import type { Picture, VideoAccount, VideoJob, VideoModel, VideoOrder, VideoReference } from "@colloquy/core/adapters"
import { ModelError, VideoJobStatus } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { ApiKey } from "./ApiKey.ts"
import { toFault } from "./OpenAiErrors.ts"
import { bearer, type Call, fetchPaced, streamBytes, type TransportSettings } from "./Transport.ts"
import { dataUrl, finite, record, text, type WireRecord } from "./Wire.ts"

export interface RouterVideoSettings extends TransportSettings {
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
}

// ------ order

const lower = ({ firstFrame, lastFrame, model, options, prompt, references }: VideoOrder): WireRecord => {
  const frames = [
    ...(firstFrame === null ? [] : [lowerFrame(firstFrame, "first_frame")]),
    ...(lastFrame === null ? [] : [lowerFrame(lastFrame, "last_frame")])
  ]
  return {
    model,
    prompt,
    ...options,
    ...(frames.length === 0 ? {} : { frame_images: frames }),
    ...(references.length === 0 ? {} : { input_references: references.map(lowerReference) })
  }
}

const inUrl = ({ bytes, mimeType }: Picture) => ({ url: dataUrl(mimeType, bytes) })

const lowerFrame = (picture: Picture, frame: string) => ({
  type: "image_url",
  image_url: inUrl(picture),
  frame_type: frame
})

const lowerReference = (reference: VideoReference): WireRecord => {
  switch (reference.kind) {
    case "image":
      return { type: "image_url", image_url: inUrl(reference.picture) }
    case "audio":
      return { type: "audio_url", audio_url: { url: reference.url } }
    case "video":
      return { type: "video_url", video_url: { url: reference.url } }
  }
}

// ------ job

const isStatus = Schema.is(VideoJobStatus)

/** The id becomes part of a URL, so an id with characters that would change the path is refused. */
const isJobId = (id: string | undefined): id is string => id !== undefined && /^(?!\.+$)[\w.:~-]{1,255}$/u.test(id)

/** Undefined when the answer is not a job. An unknown status counts as in progress. */
const readJob = (body: unknown, retryAfterMillis: number | null): VideoJob | undefined => {
  const { error, id: givenId, status, usage } = record(body)
  const id = text(givenId)
  if (!isJobId(id) || text(status) === undefined) return undefined
  const cost = finite(record(usage).cost)
  return {
    id,
    status: isStatus(status) ? status : "in_progress",
    costUsd: cost === undefined || cost < 0 ? null : cost,
    problem: text(error) ?? text(record(error).message) ?? null,
    retryAfterMillis
  }
}

// ------ model

export const videoModel = (settings: RouterVideoSettings): VideoModel => {
  const accountCall = (path: string, account: VideoAccount, body: WireRecord | null = null): Call => ({
    provider: account.provider,
    model: account.model,
    url: `${settings.baseUrl}/videos${path}`,
    headers: { ...settings.headers },
    secrets: bearer(account.apiKey ?? settings.apiKey),
    body: body === null ? null : JSON.stringify(body),
    isOnce: body !== null
  })

  const fetchJob = (call: Call): Effect.Effect<VideoJob, ModelError> =>
    Effect.flatMap(fetchPaced(call, dialect, settings), ({ body, retryAfterMillis }) => {
      const job = readJob(body, retryAfterMillis)
      return job === undefined ? Effect.fail(malformed(call)) : Effect.succeed(job)
    })

  return {
    submit: (order) => Effect.suspend(() => fetchJob(accountCall("", order, lower(order)))),
    status: (jobId, account) =>
      Effect.suspend(() => fetchJob(accountCall(`/${encodeURIComponent(jobId)}`, account))).pipe(
        Effect.map(Option.some),
        Effect.catchIf(
          ({ status }) => status === 404,
          () => Effect.succeedNone
        )
      ),
    content: (jobId, account) =>
      Stream.suspend(() =>
        streamBytes(
          accountCall(`/${encodeURIComponent(jobId)}/content?index=0`, account),
          ["video/"],
          dialect,
          settings
        )
      )
  }
}

const dialect = { requestIdHeader: "x-generation-id", fault: toFault }

const malformed = ({ model, provider }: Call): ModelError =>
  new ModelError({ reason: "malformed", code: "malformed_answer", provider, model })

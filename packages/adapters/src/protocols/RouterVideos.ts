/**
 * Videos on the router's wire: an order, its job, and the bytes of the clip. `providers/OpenRouter` registers it.
 *
 * All addresses are made here, of the base URL and the job's id: those that an answer names (`polling_url`, `unsigned_urls`) are not followed,
 * nor is any redirect, so that an answer can send neither the key nor a request of this server to an address of its choice.
 */
import type { Picture, VideoAccount, VideoJob, VideoModel, VideoOrder, VideoReference } from "@colloquy/core/adapters"
import { ModelError, VideoJobStatus } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { ApiKey } from "./ApiKey.ts"
import { faultOf } from "./OpenAiErrors.ts"
import { bearer, type Call, fetchPaced, streamBytes, type TransportSettings } from "./Transport.ts"
import { base64, finite, record, text, type WireRecord } from "./Wire.ts"

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

const dataUri = ({ bytes, mimeType }: Picture) => ({ url: `data:${mimeType};base64,${base64(bytes)}` })

const lowerFrame = (picture: Picture, frame: string) => ({
  type: "image_url",
  image_url: dataUri(picture),
  frame_type: frame
})

const lowerReference = (reference: VideoReference): WireRecord => {
  switch (reference.kind) {
    case "image":
      return { type: "image_url", image_url: dataUri(reference.picture) }
    case "audio":
      return { type: "audio_url", audio_url: { url: reference.url } }
    case "video":
      return { type: "video_url", video_url: { url: reference.url } }
  }
}

// ------ job

const isStatus = Schema.is(VideoJobStatus)

/** An id stands in addresses, so one that would change them is none. */
const isJobId = (id: string | undefined): id is string => id !== undefined && /^(?!\.+$)[\w.:~-]{1,255}$/u.test(id)

/** Undefined when the answer is no job. A state that is not known goes on. */
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
  const callOf = (path: string, account: VideoAccount, body: WireRecord | null = null): Call => ({
    provider: account.provider,
    model: account.model,
    url: `${settings.baseUrl}/videos${path}`,
    headers: { ...settings.headers },
    secrets: bearer(account.apiKey ?? settings.apiKey),
    body: body === null ? null : JSON.stringify(body),
    isOnce: body !== null
  })

  const askForJob = (call: Call): Effect.Effect<VideoJob, ModelError> =>
    Effect.flatMap(fetchPaced(call, dialect, settings), ({ body, retryAfterMillis }) => {
      const job = readJob(body, retryAfterMillis)
      return job === undefined ? Effect.fail(malformed(call)) : Effect.succeed(job)
    })

  return {
    submit: (order) => Effect.suspend(() => askForJob(callOf("", order, lower(order)))),
    status: (jobId, account) =>
      Effect.suspend(() => askForJob(callOf(`/${encodeURIComponent(jobId)}`, account))).pipe(
        Effect.map(Option.some),
        Effect.catchIf(
          ({ status }) => status === 404,
          () => Effect.succeedNone
        )
      ),
    content: (jobId, account) =>
      Stream.suspend(() =>
        streamBytes(callOf(`/${encodeURIComponent(jobId)}/content?index=0`, account), ["video/"], dialect, settings)
      )
  }
}

const dialect = { requestIdHeader: "x-generation-id", fault: faultOf }

const malformed = ({ model, provider }: Call): ModelError =>
  new ModelError({ reason: "malformed", code: "malformed_answer", provider, model })

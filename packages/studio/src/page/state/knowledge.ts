/** Reads and writes records of an assistant and its owner through the API: settings with versions, schedules, webhooks. No elements. */
import { call, json, post } from "../api/http.ts"
import type {
  Assistant,
  AssistantVersion,
  Delivery,
  DocumentExcerpt,
  JsonRecord,
  Schedule,
  VersionEntry,
  Webhook
} from "../wire.ts"

export const readAssistant = (id: string): Promise<Assistant> => json<Assistant>(`/assistants/${id}`)

const unchanged = (version: number) => ({ "if-match": `"${version}"` })

/** Refused with 412 when the assistant has changed since this version was read. */
export const saveAssistant = (id: string, version: number, body: JsonRecord): Promise<Assistant> =>
  json<Assistant>(`/assistants/${id}`, { method: "PUT", body, headers: unchanged(version) })

interface VersionPage {
  readonly versions: ReadonlyArray<VersionEntry>
  readonly next_cursor: string | null
}

export const readVersions = (id: string, cursor: string | null): Promise<VersionPage> =>
  json<VersionPage>(`/assistants/${id}/versions?limit=20${cursor === null ? "" : `&cursor=${cursor}`}`)

export const readVersion = (id: string, version: number): Promise<AssistantVersion> =>
  json<AssistantVersion>(`/assistants/${id}/versions/${version}`)

export const restoreVersion = (id: string, version: number, present: number): Promise<Assistant> =>
  json<Assistant>(`/assistants/${id}/versions/${version}/restore`, { method: "POST", headers: unchanged(present) })

export const searchDocuments = async (id: string, query: string): Promise<ReadonlyArray<DocumentExcerpt>> => {
  const found = await json<{ readonly excerpts: ReadonlyArray<DocumentExcerpt> }>(
    `/assistants/${id}/documents/search`,
    {
      method: "POST",
      body: { query, limit: 10 }
    }
  )
  return found.excerpts
}

const mostListed = 100

export const readSchedules = async (id: string): Promise<ReadonlyArray<Schedule>> =>
  (await json<{ readonly schedules: ReadonlyArray<Schedule> }>(`/assistants/${id}/schedules?limit=${mostListed}`))
    .schedules

export const addSchedule = (id: string, body: JsonRecord): Promise<Schedule> =>
  post<Schedule>(`/assistants/${id}/schedules`, body)

const scheduleAddress = ({ assistant_id, schedule_id }: Schedule): string =>
  `/assistants/${assistant_id}/schedules/${schedule_id}`

export const pauseSchedule = (schedule: Schedule, paused: boolean): Promise<Schedule> =>
  json<Schedule>(scheduleAddress(schedule), { method: "PUT", body: { paused } })

export const runSchedule = (schedule: Schedule): Promise<{ readonly run_id: string; readonly thread_id: string }> =>
  post(`${scheduleAddress(schedule)}/run`, {})

export const removeSchedule = (schedule: Schedule): Promise<Response> =>
  call(scheduleAddress(schedule), { method: "DELETE" })

export const readWebhooks = async (): Promise<ReadonlyArray<Webhook>> =>
  (await json<{ readonly webhooks: ReadonlyArray<Webhook> }>(`/webhooks?limit=${mostListed}`)).webhooks

export type SecretWebhook = Webhook & { readonly secret: string }

export const addWebhook = (body: JsonRecord): Promise<SecretWebhook> => post<SecretWebhook>("/webhooks", body)

export const rotateWebhook = (id: string): Promise<SecretWebhook> => post<SecretWebhook>(`/webhooks/${id}/rotate`, {})

export const removeWebhook = (id: string): Promise<Response> => call(`/webhooks/${id}`, { method: "DELETE" })

export const readDeliveries = async (id: string): Promise<ReadonlyArray<Delivery>> =>
  (await json<{ readonly deliveries: ReadonlyArray<Delivery> }>(`/webhooks/${id}/deliveries?limit=20`)).deliveries

export const retryDelivery = (id: string, deliveryId: string): Promise<Delivery> =>
  post<Delivery>(`/webhooks/${id}/deliveries/${deliveryId}/retry`, {})

/** What the user has used of each limit, while its dialog is open. */
import { json } from "../api/http.ts"
import { signal } from "../view.ts"

export interface Allowance {
  readonly used: number
  readonly limit: number | null
  readonly resets_at: string | null
}

export type Usage = Readonly<Record<string, Allowance>>

/** Null: the dialog is closed. */
export const usage = signal<Usage | null>(null)

export const openUsage = async (): Promise<void> => {
  usage.value = await json<Usage>("/owners/me/usage")
}

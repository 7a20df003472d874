/** Which dialogs are open. Their files are loaded when they open. */
import { signal } from "../view.ts"
import type { Assistant, Tool } from "../wire.ts"

/** `new`, or the assistant that is changed; null: neither. */
export const edited = signal<Assistant | "new" | null>(null)

/** A stored turn, or a conversation without a thread. */
export type Kept =
  | { readonly thread_id: string; readonly message_id: string }
  | {
      readonly question: string
      readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string }>
      readonly assistant_id: string
      readonly instructions?: string
      readonly tool_definitions?: ReadonlyArray<Tool>
    }

/** The turn that is being kept as a case. Null: none. */
export const kept = signal<Kept | null>(null)

export const isPaletteOpen = signal(false)

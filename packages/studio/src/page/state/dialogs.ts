/** Which dialogs are open. Their files are loaded when they open. */
import { signal } from "../view.ts"
import type { Assistant } from "../wire.ts"

/** `new`, or the assistant that is changed; null: neither. */
export const edited = signal<Assistant | "new" | null>(null)

export const isPaletteOpen = signal(false)

/** How much an import may have. A file of its own, because every wing reads the settings of turns, and few import conversations. */

export interface ImportLimits {
  readonly messages: number
  /** UTF-16 units of all texts, arguments and outputs together, and of one of them. */
  readonly characters: number
  readonly charactersOfOne: number
  /** How many problems a refusal names. */
  readonly problems: number
}

export const defaultImportLimits: ImportLimits = {
  messages: 10_000,
  characters: 16_000_000,
  charactersOfOne: 1_048_576,
  problems: 100
}

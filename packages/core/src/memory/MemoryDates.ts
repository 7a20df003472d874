/** Pure: the dates of memories as text, as models and clients write and read them. */

/** "2026-05-03" */
export const writeDay = (date: Date): string => date.toISOString().slice(0, 10)

/** Days and times of the years 1 to 9999; any other text was not understood. */
export const readDate = (text: string | null | undefined): Date | null => {
  if (text === null || text === undefined || !/^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2}))?$/u.test(text))
    return null
  const date = new Date(text)
  const year = date.getUTCFullYear()
  if (!(year >= 1 && year <= 9999)) return null
  // The 31st of a short month would be read as the 1st of the next month.
  return text.length === 10 && !date.toISOString().startsWith(text) ? null : date
}

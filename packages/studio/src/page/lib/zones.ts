/** Times in other time zones. Pure. */

/** A time in another time zone; in UTC, where the browser does not know the zone. */
export const timeIn = (time: string, timeZone: string): string => {
  const date = new Date(time)
  const words = { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const
  try {
    return date.toLocaleString([], { ...words, timeZone })
  } catch {
    return date.toLocaleString([], { ...words, timeZone: "UTC", timeZoneName: "short" })
  }
}

/** Numbers, times and names in a readable form. Pure. */

/** The midnight with which the day of a time begins, or that of a day so many days later. Not every day has 24 hours. */
export const midnight = (time: number, later = 0): number => {
  const date = new Date(time)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + later).getTime()
}

/** The time for today, the weekday for this week, otherwise the date. */
export const shortDate = (iso: string, now = Date.now()): string => {
  const date = new Date(iso)
  const time = date.getTime()
  if (time >= midnight(now, -6) && time < midnight(now, 1)) {
    if (time >= midnight(now)) return date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
    return time >= midnight(now, -1) ? "Yesterday" : date.toLocaleDateString([], { weekday: "long" })
  }
  return date.toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" })
}

/** The heading under which a thread stands in a list. */
export const dayName = (iso: string, now = Date.now()): string => {
  const time = new Date(iso).getTime()
  if (time >= midnight(now)) return "Today"
  if (time >= midnight(now, -1)) return "Yesterday"
  return time >= midnight(now, -6) ? "This week" : "Earlier"
}

export const wholeDate = (iso: string): string => new Date(iso).toLocaleString()

export const duration = (millis: number): string => {
  if (millis < 1000) return `${Math.round(millis)} ms`
  if (millis < 59_950) return `${(millis / 1000).toFixed(millis < 10_000 ? 2 : 1)} s`
  const seconds = Math.round(millis / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** A time in few letters: `640 ms`, `1.8 s`. */
export const briefly = (millis: number): string =>
  millis >= 1000 && millis < 10_000 ? `${(millis / 1000).toFixed(1)} s` : duration(millis)

export const money = (usd: number): string => {
  if (usd === 0) return "$0"
  return usd >= 0.01 ? `$${usd.toFixed(2)}` : `$${usd.toPrecision(2)}`
}

export const count = (value: number): string => value.toLocaleString("en")

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`

export const bytes = (size: number): string => {
  if (size < 1000) return `${size} B`
  return size < 1_000_000 ? `${(size / 1000).toFixed(0)} kB` : `${(size / 1_000_000).toFixed(1)} MB`
}

export const percent = (share: number): string => `${Math.round(share * 100)} %`

/**
 * Pure: finds days that a text names relative to the day of speaking ("last Tuesday", said on 8 May 2023) and writes them as dates, so that
 * a question with a date finds the text. These words are for the index and never shown. English only, because only English was measured.
 */

const months = "january february march april may june july august september october november december".split(" ")
const weekdays = "sunday monday tuesday wednesday thursday friday saturday".split(" ")
const counts: Readonly<Record<string, number>> = Object.fromEntries(
  "one two three four five six seven eight nine ten".split(" ").map((word, index) => [word, index + 1])
)
const aCouple: Readonly<Record<string, number>> = { couple: 2, few: 3 }

/** "8 may 2023" */
export const dateWords = (day: Date): string =>
  `${day.getUTCDate()} ${months[day.getUTCMonth()]} ${day.getUTCFullYear()}`

type Unit = "day" | "week" | "month" | "year"

/** The dates that a text names, in words. */
export const spokenDates = (text: string, said: Date): string => {
  const spoken = text.toLowerCase()
  return [
    ...namedDays(spoken, said),
    ...adjacentPeriods(spoken, said),
    ...weekdaysIn(spoken, said),
    ...ago(spoken, said)
  ].join(" ")
}

const shifted = (said: Date, amount: number, unit: Unit): string => {
  const [year, month] = [said.getUTCFullYear(), said.getUTCMonth()]
  switch (unit) {
    case "day":
      return dateWords(new Date(said.getTime() + amount * 86_400_000))
    case "week":
      return dateWords(new Date(said.getTime() + amount * 7 * 86_400_000))
    case "month": {
      const moved = new Date(Date.UTC(year, month + amount, 1))
      return `${months[moved.getUTCMonth()]} ${moved.getUTCFullYear()}`
    }
    case "year":
      return String(year + amount)
  }
}

const namedDays = (spoken: string, said: Date): ReadonlyArray<string> =>
  (
    [
      [/\b(?:yesterday|last night)\b/u, -1],
      [/\btomorrow\b/u, 1],
      [/\b(?:today|tonight|this morning)\b/u, 0]
    ] as const
  ).flatMap(([pattern, days]) => (pattern.test(spoken) ? [shifted(said, days, "day")] : []))

const toUnit = (word: string): Unit =>
  word === "year" ? "year" : word === "month" ? "month" : word === "day" ? "day" : "week"

const adjacentPeriods = (spoken: string, said: Date): ReadonlyArray<string> =>
  Array.from(spoken.matchAll(/\b(last|next) (year|month|week)(?:end)?\b/gu), ([, side, unit = ""]) =>
    shifted(said, side === "last" ? -1 : 1, toUnit(unit))
  )

const weekdaysIn = (spoken: string, said: Date): ReadonlyArray<string> =>
  Array.from(spoken.matchAll(/\b(last|this|next|past)\s+(\w+day)\b/gu)).flatMap(([, side, name = ""]) => {
    const weekday = weekdays.indexOf(name)
    if (weekday === -1) return []
    const ahead = (weekday - said.getUTCDay() + 7) % 7
    return [shifted(said, side === "next" ? ahead || 7 : ahead - 7, "day")]
  })

const ago = (spoken: string, said: Date): ReadonlyArray<string> =>
  Array.from(
    spoken.matchAll(/\b(\d{1,4}|[a-z]+|a (?:couple of|few)) (day|week|month|year)s? ago\b/gu),
    ([, count = "", unit = ""]) => shifted(said, -readAmount(count), toUnit(unit))
  )

const readAmount = (count: string): number =>
  Number(count) || counts[count] || aCouple[count.replace(/^a /u, "").replace(/ of$/u, "")] || 1

/**
 * Pure functions that put the words of a page, with their positions, into lines in reading order. A page with two columns is read column by
 * column. A table, whose columns are narrower, is read row by row, with its cells separated.
 */

export interface Word {
  readonly text: string
  readonly left: number
  readonly right: number
  /** The height of the baseline above the bottom of the page. */
  readonly height: number
  readonly size: number
}

export type Line = ReadonlyArray<Word>

const letters = /\p{L}/gu
const lettersToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/gu

/** Whether most letters are of a script that is written from right to left. */
const isRightToLeft = (words: Line): boolean => {
  const text = words.map((word) => word.text).join("")
  return (text.match(lettersToLeft)?.length ?? 0) * 2 > (text.match(letters)?.length ?? 0)
}

/** Groups words of about the same height into lines, each in the direction of its script, the highest line first. */
const joinLines = (words: ReadonlyArray<Word>): ReadonlyArray<Line> => {
  const lines: Array<Array<Word>> = []
  for (const word of [...words].sort((a, b) => b.height - a.height)) {
    const line = lines.at(-1)
    const reach = Math.max(2, word.size * 0.4)
    if (line?.[0] !== undefined && Math.abs(line[0].height - word.height) < reach) line.push(word)
    else lines.push([word])
  }
  for (const line of lines) line.sort(isRightToLeft(line) ? (a, b) => b.right - a.right : (a, b) => a.left - b.left)
  return lines
}

/** A range of lines that are all empty at one horizontal position, so that they form two columns. */
interface Gutter {
  readonly x: number
  readonly from: number
  readonly to: number
}

const fewestLines = 8

/** Returns the lines of a page in reading order. */
export const readingOrder = (words: ReadonlyArray<Word>, pageWidth: number): ReadonlyArray<Line> => {
  const lines = joinLines(words)
  const gutter = widestGutter(lines, pageWidth)
  if (gutter === undefined) return lines
  const { from, to, x } = gutter
  const inside = lines.slice(from, to).flat()
  const columns = [inside.filter(({ right }) => right <= x), inside.filter(({ left }) => left >= x)]
  return [
    ...lines.slice(0, from),
    ...(isRightToLeft(inside) ? columns.toReversed() : columns).flatMap(joinLines),
    ...readingOrder(lines.slice(to).flat(), pageWidth)
  ]
}

/** The gutter with the most lines, in the middle third of the page. */
const widestGutter = (lines: ReadonlyArray<Line>, pageWidth: number): Gutter | undefined => {
  let best: Gutter | undefined
  for (let x = pageWidth * 0.35; x <= pageWidth * 0.65; x += pageWidth * 0.01) {
    for (let from = 0; from < lines.length; from++) {
      const found = gutterFrom(lines, from, x, pageWidth)
      if (found.isProse && found.to - from > (best === undefined ? 0 : best.to - best.from)) {
        best = { x, from, to: found.to }
      }
      from = Math.max(from, found.to - 1)
    }
  }
  return best
}

const gutterFrom = (lines: ReadonlyArray<Line>, from: number, x: number, pageWidth: number) => {
  let to = from
  let both = 0
  let widestLeft = 0
  let widestRight = 0
  for (; to < lines.length; to++) {
    const line = lines[to] ?? []
    if (isFarBelow(lines[to - 1], line) && to > from) break
    if (line.some(({ left, right }) => left < x + 5 && right > x - 5)) break
    const onLeft = line.filter(({ right }) => right <= x)
    const onRight = line.filter(({ left }) => left >= x)
    if (onLeft.length > 0 && onRight.length > 0) both++
    widestLeft = Math.max(widestLeft, lineWidth(onLeft))
    widestRight = Math.max(widestRight, lineWidth(onRight))
  }
  // Columns of prose are wide, columns of a table are narrow.
  const isProse = both >= fewestLines && widestLeft > pageWidth * 0.22 && widestRight > pageWidth * 0.22
  return { to, isProse }
}

const isFarBelow = (above: Line | undefined, line: Line): boolean => {
  const [first, second] = [above?.[0], line[0]]
  return first !== undefined && second !== undefined && first.height - second.height > second.size * 3
}

const lineWidth = (line: Line): number =>
  line.reduce((right, word) => Math.max(right, word.right), line[0]?.right ?? 0) -
  line.reduce((left, word) => Math.min(left, word.left), line[0]?.left ?? 0)

/** A wide gap separates cells, a small gap separates words. */
export const textOfLine = (line: Line): string =>
  line
    .map((word, index) => {
      const before = line[index - 1]
      const gap = before === undefined ? 0 : Math.max(word.left - before.right, before.left - word.right)
      if (gap > word.size * 1.5) return ` | ${word.text}`
      return gap > word.size * 0.15 ? ` ${word.text}` : word.text
    })
    .join("")
    .trim()

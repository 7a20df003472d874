/** The differences between two texts, word by word. Pure. */
export interface Change {
  readonly kind: "same" | "added" | "removed"
  readonly text: string
}

/** The most comparisons of words; texts that need more are shown as one whole change. */
const most = 4_000_000

/** Words with the spaces before them, so that the pieces are the whole text again. */
const words = (text: string): ReadonlyArray<string> => text.match(/\s*\S+|\s+/gu) ?? []

/** The longest common run of words, by a table of lengths. */
const middle = (before: ReadonlyArray<string>, after: ReadonlyArray<string>): ReadonlyArray<Change> => {
  const width = after.length + 1
  if (before.length * after.length > most)
    return [
      { kind: "removed", text: before.join("") },
      { kind: "added", text: after.join("") }
    ]
  const lengths = new Uint32Array((before.length + 1) * width)
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        before[row] === after[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const changes: Array<Change> = []
  let [row, column] = [0, 0]
  while (row < before.length || column < after.length) {
    const [old, fresh] = [before[row], after[column]]
    if (old !== undefined && old === fresh) {
      changes.push({ kind: "same", text: old })
      row++
      column++
    } else if (old !== undefined && (fresh === undefined || at(row + 1, column) >= at(row, column + 1))) {
      changes.push({ kind: "removed", text: old })
      row++
    } else {
      changes.push({ kind: "added", text: fresh ?? "" })
      column++
    }
  }
  return changes
}

/** Joins neighbours of one kind. Removed words come before the words that replace them. */
const joined = (changes: ReadonlyArray<Change>): ReadonlyArray<Change> => {
  const found: Array<Change> = []
  let [removed, added] = ["", ""]
  const flush = () => {
    if (removed !== "") found.push({ kind: "removed", text: removed })
    if (added !== "") found.push({ kind: "added", text: added })
    removed = ""
    added = ""
  }
  for (const { kind, text } of changes) {
    if (kind === "removed") removed += text
    else if (kind === "added") added += text
    else {
      flush()
      const last = found.at(-1)
      if (last?.kind === "same") found[found.length - 1] = { kind, text: last.text + text }
      else found.push({ kind, text })
    }
  }
  flush()
  return found
}

export const wordDiff = (before: string, after: string): ReadonlyArray<Change> => {
  const [old, fresh] = [words(before), words(after)]
  let begin = 0
  while (begin < old.length && begin < fresh.length && old[begin] === fresh[begin]) begin++
  let end = 0
  while (end < old.length - begin && end < fresh.length - begin && old.at(-1 - end) === fresh.at(-1 - end)) end++
  const same = (list: ReadonlyArray<string>): ReadonlyArray<Change> =>
    list.length === 0 ? [] : [{ kind: "same", text: list.join("") }]
  return joined([
    ...same(old.slice(0, begin)),
    ...middle(old.slice(begin, old.length - end), fresh.slice(begin, fresh.length - end)),
    ...same(end === 0 ? [] : old.slice(-end))
  ])
}

/** Snapshots that a person can read: JSON in as few lines as fit. */

const width = 140

/** Any JSON value. */
export const written = (value: unknown, indent = ""): string => {
  const line = JSON.stringify(value) ?? "undefined"
  if (typeof value !== "object" || value === null || indent.length + line.length <= width) return line
  const deeper = `${indent}  `
  if (Array.isArray(value))
    return `[\n${filled(
      value.map((item) => written(item, deeper)),
      deeper
    )}\n${indent}]`
  const fields = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${written(item, deeper)}`)
  return `{\n${filled(fields, deeper)}\n${indent}}`
}

/** As many parts in a line as fit; what has several lines stands alone. */
const filled = (parts: ReadonlyArray<string>, indent: string): string => {
  const lines: Array<string> = []
  for (const part of parts) {
    const last = lines.at(-1)
    const joined = `${last}, ${part}`
    if (last !== undefined && !joined.includes("\n") && indent.length + joined.length <= width)
      lines[lines.length - 1] = joined
    else lines.push(part)
  }
  return lines.map((line) => indent + line).join(",\n")
}

type Fields = { readonly [name: string]: unknown }

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Several objects of one kind: the first as a whole, of each other one the fields in which it differs from the first. */
export const writtenByDifference = (named: { readonly [name: string]: unknown }): string => {
  const [first, ...others] = Object.entries(named)
  if (first === undefined || !isFields(first[1])) return written(named)
  const [firstName, base] = first
  return [
    `${firstName}:\n${written(base)}`,
    ...others.map(([name, other]) => `${name}:\n${difference(base, other)}`)
  ].join("\n\n")
}

const difference = (base: Fields, other: unknown): string => {
  if (!isFields(other)) return written(other)
  const names = [...new Set([...Object.keys(base), ...Object.keys(other)])]
  const changed = names.filter((name) => JSON.stringify(base[name]) !== JSON.stringify(other[name]))
  if (changed.length === 0) return "  the same"
  return changed.map((name) => `  ${name}: ${name in other ? written(other[name], "  ") : "(left out)"}`).join("\n")
}

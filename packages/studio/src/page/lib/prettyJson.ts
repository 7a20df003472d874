/** JSON for people. Pure. */
const jsonTokens = /"(?:\\.|[^"\\])*"|\{\s*\}|\[\s*\]|[{}[\],:]|\s+/gu

/** JSON with indentation, its numbers as they were written; other text stays unchanged. */
export const prettyJson = (text: string): string => {
  let depth = 0
  const line = () => `\n${"  ".repeat(depth)}`
  try {
    JSON.parse(text)
    return text.replaceAll(jsonTokens, (token) => {
      if (token.startsWith('"')) return token
      if (token === ":") return ": "
      if (token === ",") return `,${line()}`
      if (token === "{" || token === "[") depth += 1
      else if (token === "}" || token === "]") depth -= 1
      else return token.replaceAll(/\s+/gu, "")
      return token === "{" || token === "[" ? token + line() : line() + token
    })
  } catch {
    return text
  }
}

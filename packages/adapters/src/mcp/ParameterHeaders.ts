/**
 * Pure: whether the arguments that a tool wants as headers can be sent as headers. By the revision 2026-07-28, a client over HTTP leaves
 * out a tool whose declarations (`x-mcp-header`) are not valid.
 */
const declaration = "x-mcp-header"
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/u
const types: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"])

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * A valid declaration stands at a property of a plain type. Its path consists of property names alone, and no two declarations have the
 * same name.
 */
export const hasUsableHeaders = (schema: unknown): boolean => {
  const names = new Set<string>()
  const isUsable = (node: unknown, isProperty: boolean, isReachable: boolean): boolean => {
    if (Array.isArray(node)) return node.every((each) => isUsable(each, false, false))
    if (!isRecord(node)) return true
    const { [declaration]: name, properties, ...others } = node
    if (name !== undefined) {
      if (!isProperty || typeof name !== "string" || !token.test(name) || !types.has(node["type"])) return false
      if (names.size === names.add(name.toLowerCase()).size) return false
    }
    const inside = isReachable && isRecord(properties) ? Object.values(properties) : []
    const elsewhere = isReachable ? others : { ...others, properties }
    return (
      inside.every((each) => isUsable(each, true, true)) &&
      Object.values(elsewhere).every((each) => isUsable(each, false, false))
    )
  }
  return isUsable(schema, false, true)
}

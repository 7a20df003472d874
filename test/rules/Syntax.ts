/** Nodes of a parsed source file. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && "start" in value && "end" in value

export const childNodes = (node: Node): ReadonlyArray<Node> => Object.values(node).flat().filter(isNode)

/** The node and all that are below it, each before its children. */
export const everyNode = (node: Node): ReadonlyArray<Node> => {
  const found: Array<Node> = []
  const walk = (each: Node): void => {
    found.push(each)
    for (const child of childNodes(each)) walk(child)
  }
  walk(node)
  return found
}

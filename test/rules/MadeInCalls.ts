/** Finds the generator functions and the classes that calls make anew, from the syntax of a source file. Nothing is executed. */
import { parseSync } from "rolldown/utils"
import { childNodes, isNode, type Node } from "./Syntax.ts"

/** What these make is made once: for a layer, for a service, for a server. Other code runs in calls. */
const buildingCall = /^(?:Layer|HttpApiBuilder|HttpRouter)\./u
const buildingName = /^(?:make|layer|register|branches$|runStarts$)/u
const serviceType = /^:\s*(?:Pick<)?typeof \w+\.Service\b/u

type Place = "module" | "build" | "call"

const named = new Set(["VariableDeclarator", "Property", "PropertyDefinition", "FunctionDeclaration"])
const functions = new Set(["ArrowFunctionExpression", "FunctionExpression", "FunctionDeclaration"])
const classes = new Set(["ClassExpression", "ClassDeclaration"])

/** The lines at which calls make a generator function or a class. */
export const madeInCalls = (source: string): ReadonlyArray<number> => {
  const lines: Array<number> = []
  const sourceText = (node: unknown) => (isNode(node) ? source.slice(node.start, node.end) : "")

  /** `name` is that of the value in which the node stands. */
  const walk = (node: Node, parent: Node | null, outer: Place, outerName: string): void => {
    const builder = node.type === "CallExpression" && buildingCall.test(sourceText(node["callee"]))
    let place = builder ? "build" : outer
    let name = builder ? "layer" : outerName
    if (named.has(node.type)) name = sourceText(node["id"] ?? node["key"]).replace(/:.*/su, "")
    const isMade = classes.has(node.type) || node["generator"] === true
    if (isMade && place === "call") lines.push(source.slice(0, node.start).split("\n").length)
    if (functions.has(node.type)) {
      const isBuilt = buildingName.test(name) || serviceType.test(sourceText(node["returnType"]))
      const isConstant = place === "module" && sourceText(parent?.["callee"]) === "Effect.gen"
      place = place !== "call" && (isBuilt || isConstant) ? "build" : "call"
      // `makeX = (options) => Effect.gen(…)`: the generator is the body of what builds.
      if (place === "call" || node["expression"] !== true) name = ""
    }
    for (const each of childNodes(node)) walk(each, node, place, name)
  }

  const program: unknown = parseSync("source.ts", source).program
  if (isNode(program)) walk(program, null, "module", "")
  return lines
}

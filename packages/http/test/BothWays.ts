/** The two ways from a server of `node:http` to the service. What a test promises of one, it promises of both. */
import type { NodeHandler, WebHandler } from "../src/index.ts"
import { toNodeHandler } from "../src/node/index.ts"

export type Way = (service: Pick<WebHandler, "handler" | "node">) => NodeHandler

export const straight: Way = ({ node }) => node
export const throughWeb: Way = ({ handler }) => toNodeHandler(handler)

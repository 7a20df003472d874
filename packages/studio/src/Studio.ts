/**
 * The studio: a page to talk to assistants, to see what a turn did, and to look after documents and memories. It is a client of the public
 * API and of nothing else. A host mounts it beside the API, with the API's path and its own.
 */
import { pageFiles } from "./PageFiles.ts"
import { makeStudio, type Studio, type StudioOptions } from "./StudioHandler.ts"

export type { HostRequest } from "@colloquy/http/node"
export type { Brand } from "./Brand.ts"
export type { Studio, StudioOptions, StudioRoom } from "./StudioHandler.ts"

export const studio = <Source = unknown>(options: StudioOptions<Source>): Studio => makeStudio(pageFiles, options)

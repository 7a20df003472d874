/** Where the files of the guide are: in the published package a folder of its own, otherwise the repository. Null: nowhere. */
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

export const guideHome: string | null =
  ["../../guide/", "../../../../"]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(`${path}docs/README.md`) && existsSync(`${path}llms.txt`)) ?? null

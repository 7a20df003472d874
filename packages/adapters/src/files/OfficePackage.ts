/** Opens an Office document since 2007: parts in a zip archive that refer to each other. References to anything outside the archive are ignored. */
import { damaged } from "./Refused.ts"
import { walkXml } from "./Xml.ts"
import { openZip } from "./Zip.ts"

export interface Relation {
  readonly type: string
  readonly path: string
}

export interface OfficePackage {
  readonly kind: string
  readonly read: (path: string) => Uint8Array | undefined
  /** The parts to which a part refers, by the ids that it uses for them. */
  readonly readRelations: (path: string) => ReadonlyMap<string, Relation>
  readonly main: {
    readonly path: string
    readonly bytes: Uint8Array
    readonly relations: ReadonlyMap<string, Relation>
  }
}

export const openPackage = (file: Uint8Array, kind: string): OfficePackage => {
  const { read } = openZip(file, kind)
  const relationsFrom = (path: string): ReadonlyMap<string, Relation> => {
    const cut = path.lastIndexOf("/") + 1
    const found = new Map<string, Relation>()
    const bytes = read(`${path.slice(0, cut)}_rels/${path.slice(cut)}.rels`)
    if (bytes === undefined) return found
    walkXml(bytes, kind, {
      open: (name, attribute) => {
        if (name !== "Relationship" || attribute("TargetMode") === "External") return
        const target = resolve(path.slice(0, cut), attribute("Target") ?? "")
        const type = attribute("Type")?.split("/").pop() ?? ""
        if (target !== undefined) found.set(attribute("Id") ?? "", { type, path: target })
      }
    })
    return found
  }
  const path = relationPath(relationsFrom(""), "officeDocument")
  const bytes = path === undefined ? undefined : read(path)
  if (path === undefined || bytes === undefined) throw damaged(kind)
  return { kind, read, readRelations: relationsFrom, main: { path, bytes, relations: relationsFrom(path) } }
}

/** The first part of a type. */
export const relationPath = (relations: ReadonlyMap<string, Relation>, type: string): string | undefined =>
  [...relations.values()].find((relation) => relation.type === type)?.path

const resolve = (folder: string, target: string): string | undefined => {
  try {
    const { pathname, protocol } = new URL(target, `file:///${folder}`)
    return protocol === "file:" ? decodeURIComponent(pathname.slice(1)) : undefined
  } catch {
    return undefined
  }
}

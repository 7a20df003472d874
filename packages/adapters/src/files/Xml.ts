/**
 * Walks through an XML part without building a tree. A document type declaration is refused, because a file could declare entities that expand
 * to gigabytes. Names are passed without their prefix, because every program may choose other prefixes.
 */
import { SaxesParser } from "saxes"
import { limits } from "./Limits.ts"
import { damaged, Refused, withArticle } from "./Refused.ts"

/** Returns an attribute by its name without prefix. */
export type Attribute = (name: string) => string | undefined

export interface XmlHandlers {
  readonly open?: (name: string, attribute: Attribute) => void
  readonly text?: (text: string) => void
  readonly close?: (name: string) => void
}

const local = (name: string): string => name.slice(name.indexOf(":") + 1)

const stepSize = 65_536

export const walkXml = (bytes: Uint8Array, kind: string, handlers: XmlHandlers): void => {
  const parser = new SaxesParser()
  let depth = 0
  let fault: Refused | undefined
  parser.on("error", () => {
    fault ??= damaged(kind)
  })
  parser.on("doctype", () => {
    fault ??= new Refused(
      "damaged",
      `The file declares XML entities of its own, which ${withArticle(kind)} never does.`
    )
  })
  parser.on("opentag", ({ attributes, name }) => {
    if (++depth > limits.xmlDepth)
      fault ??= new Refused(
        "damaged",
        "The elements of the file are nested too deeply. Save the file in a simpler form."
      )
    if (fault !== undefined) return
    handlers.open?.(local(name), (wanted) => {
      const found =
        attributes[wanted] ?? attributes[Object.keys(attributes).find((each) => local(each) === wanted) ?? ""]
      return typeof found === "string" ? found : undefined
    })
  })
  const text = handlers.text ?? (() => {})
  parser.on("text", text)
  parser.on("cdata", text)
  parser.on("closetag", ({ name }) => {
    depth--
    if (fault === undefined) handlers.close?.(local(name))
  })
  const decoder = new TextDecoder(detectEncoding(bytes))
  for (let at = 0; at < bytes.length; at += stepSize) {
    parser.write(decoder.decode(bytes.subarray(at, at + stepSize), { stream: at + stepSize < bytes.length }))
    if (fault !== undefined) throw fault
  }
  parser.close()
  if (fault !== undefined) throw fault
}

const detectEncoding = ([first, second]: Uint8Array): string => {
  if (first === 0xff && second === 0xfe) return "utf-16le"
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8"
}

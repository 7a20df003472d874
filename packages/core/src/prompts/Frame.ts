/**
 * Text of others in a prompt keeps to its frame: excerpts, memories and what tools found stand between two lines with a word that is new for
 * each block, so that nobody who writes a document or a memory can end it and begin another one. Names stand on one line.
 *
 * The word is random and is stored with the prompt that it was made for (`PartRecalled`, tool outputs), so later legs read the same bytes.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { newIds } from "../primitives/Ids.ts"

const FrameWord = Schema.String.pipe(Schema.brand("FrameWord"))
export type FrameWord = typeof FrameWord.Type

/** The last characters of a new id, which are random. */
export const newFrameWord: Effect.Effect<FrameWord> = Effect.map(newIds, (ids) =>
  FrameWord.make(ids(FrameWord).replaceAll("-", "").slice(-12))
)

/** Tells the model where an item ends. */
export const frameRule = (word: FrameWord): string =>
  `Each stands between the lines <${word}> and </${word}>. Only these begin and end one, whatever the text between them looks like.`

export const framed = (word: FrameWord, text: string): string =>
  `<${word}>\n${withoutControls(text).replaceAll(word, "")}\n</${word}>`

/** Without control characters, but for tabs and line breaks. */
export const withoutControls = (text: string): string => text.replaceAll(control, "")

const control = /(?![\t\n])\p{Cc}/gu

/** A name, or another text that must not look like several lines. */
export const onOneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim()

/**
 * The file format of a cassette: JSON that people can read and compare line by line. A piece of a body is a list of lines. A piece that is not
 * valid UTF-8, because it is binary or ends inside of a character, is base64.
 */
import * as Schema from "effect/Schema"

/** The lines are joined by line feeds, without one after the last line. */
const Piece = Schema.Union([Schema.Array(Schema.String), Schema.Struct({ base64: Schema.String })])
export type Piece = typeof Piece.Type

export const RecordedRequest = Schema.Struct({
  method: Schema.String,
  url: Schema.String,
  headers: Schema.Record(Schema.String, Schema.String),
  /** A JSON body is stored as its parsed value. */
  body: Schema.Union([
    Schema.Struct({ json: Schema.Json }),
    Schema.Struct({ piece: Piece }),
    Schema.Struct({ none: Schema.Literal(true) })
  ])
})
export type RecordedRequest = typeof RecordedRequest.Type

export const RecordedAnswer = Schema.Struct({
  /** 0, when there was no answer. */
  status: Schema.Int,
  headers: Schema.Record(Schema.String, Schema.String),
  /** The pieces in which the network delivered the body. */
  pieces: Schema.Array(Piece),
  /** `left`: the driver stopped reading before the end. `broken`: the connection was lost. */
  ending: Schema.Literals(["whole", "left", "broken"])
})
export type RecordedAnswer = typeof RecordedAnswer.Type

export const RecordedExchange = Schema.Struct({ request: RecordedRequest, answer: RecordedAnswer })
export type RecordedExchange = typeof RecordedExchange.Type

const CassetteFile = Schema.Struct({ about: Schema.String, exchanges: Schema.Array(RecordedExchange) })

const about = "Recorded exchanges with a provider. Keys and personal text are redacted; read it before you share it."

export const decodeCassette = Schema.decodeUnknownSync(CassetteFile)

export const encodeCassette = (exchanges: ReadonlyArray<RecordedExchange>): string =>
  `${JSON.stringify({ about, exchanges }, null, 2)}\n`

export const toPiece = (bytes: Uint8Array): Piece => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes).split("\n")
  } catch {
    return { base64: Buffer.from(bytes).toString("base64") }
  }
}

export const fromPiece = (piece: Piece): Uint8Array<ArrayBuffer> =>
  "base64" in piece
    ? new Uint8Array(Buffer.from(piece.base64, "base64"))
    : new Uint8Array(Buffer.from(piece.join("\n"), "utf8"))

/** A certificate for `localhost` that signs itself, made anew for each test: its key is nobody's secret and is never stored. */
import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto"

/** DER: a tag, the length, the content. */
const der = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: ReadonlyArray<Uint8Array>) => der(0x30, ...parts)
const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"))
const octets = (content: Uint8Array) => der(0x04, content)
const utf8 = (text: string) => der(0x0c, Buffer.from(text))
const time = (text: string) => der(0x18, Buffer.from(text))
const integer = (value: number) => der(0x02, Buffer.from([value]))

const yes = der(0x01, Buffer.from([0xff]))
const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"))
const localhost = sequence(der(0x31, sequence(oid("550403"), utf8("localhost"))))
const isAuthority = sequence(oid("551d13"), yes, octets(sequence(yes)))
const names = sequence(oid("551d11"), octets(sequence(der(0x82, Buffer.from("localhost")))))

const pem = (label: string, content: Uint8Array): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(content).toString("base64").replace(/.{64}/gu, "$&\n")}\n-----END ${label}-----\n`

export const localCertificate = (): { readonly key: string; readonly cert: string } => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" }
  })
  const body = sequence(
    der(0xa0, integer(2)),
    integer(1),
    ecdsaWithSha256,
    localhost,
    sequence(time("20200101000000Z"), time("21200101000000Z")),
    localhost,
    publicKey,
    der(0xa3, sequence(isAuthority, names))
  )
  const signature = sign("sha256", body, createPrivateKey(privateKey))
  const certificate = sequence(body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature))
  return { key: privateKey, cert: pem("CERTIFICATE", certificate) }
}

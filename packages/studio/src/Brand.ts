/** The host's own name and colour on the page. The colour is made darker or lighter until text in it can be read, in light and in dark. */

export interface Brand {
  /** The name in the rail and in the titles of the page. Absent: "Colloquy". */
  readonly name?: string
  /** The colour of links, chosen things and main buttons, as `#rgb` or `#rrggbb`. */
  readonly colour?: string
}

type Colour = readonly [number, number, number]

const readColour = (text: string): Colour => {
  const long = /^#[\da-f]{3}$/iu.test(text) ? text.replaceAll(/[\da-f]/giu, "$&$&") : text
  if (!/^#[\da-f]{6}$/iu.test(long))
    throw new TypeError(`brand.colour is ${JSON.stringify(text)}. Give a colour such as "#0d615d" or "#06c".`)
  return [
    Number.parseInt(long.slice(1, 3), 16),
    Number.parseInt(long.slice(3, 5), 16),
    Number.parseInt(long.slice(5), 16)
  ]
}

const writeColour = (colour: Colour): string =>
  `#${colour.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`

const mix = (a: Colour, b: Colour, share: number): Colour => [
  a[0] + (b[0] - a[0]) * share,
  a[1] + (b[1] - a[1]) * share,
  a[2] + (b[2] - a[2]) * share
]

/** The luminance of a colour, as WCAG computes it. */
const luminance = (colour: Colour): number => {
  const [red, green, blue] = colour.map((part) => (part <= 10.3 ? part / 3295 : ((part / 255 + 0.055) / 1.055) ** 2.4))
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0)
}

const contrast = (a: Colour, b: Colour): number => {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].toSorted((x, y) => x - y)
  return (high + 0.05) / (low + 0.05)
}

const black: Colour = [0, 0, 0]
const white: Colour = [255, 255, 255]

/** The grounds of the page in `css/base.css`, without its colour. */
const papers = { light: [244, 242, 238], dark: [34, 38, 43] } as const

interface Shades {
  readonly accent: Colour
  readonly ground: Colour
}

/** The nearest shade of a colour that can be read on a ground that is tinted with it. */
const shadesOn = (colour: Colour, paper: Colour, far: Colour): Shades => {
  for (let share = 0; share < 1; share += 0.02) {
    const accent = mix(colour, far, share)
    const ground = mix(paper, accent, 0.12)
    if (contrast(accent, ground) >= 4.6) return { accent, ground }
  }
  return { accent: far, ground: mix(paper, far, 0.12) }
}

/** The styles of a brand; they follow those of the page. */
export const brandStyles = (colour: string): string => {
  const chosen = readColour(colour)
  const light = shadesOn(chosen, papers.light, black)
  const dark = shadesOn(chosen, papers.dark, white)
  const pair = (part: keyof Shades) => `light-dark(${writeColour(light[part])}, ${writeColour(dark[part])})`
  return `:root {
  --accent: ${pair("accent")};
  --on-accent: light-dark(#ffffff, #101214);
  --mine: ${pair("ground")};
  --chosen: ${pair("ground")};
}
`
}

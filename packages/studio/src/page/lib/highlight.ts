/**
 * Code in colours: strings, comments, numbers, and the words that most languages share. A simple scanner, which also works for unknown
 * languages.
 */
export type Shade = "plain" | "string" | "comment" | "number" | "keyword" | "name"

/** Some characters of code in one colour. */
export interface Piece {
  readonly shade: Shade
  readonly text: string
}

const keywords = new Set(
  (
    "abstract and as assert async await begin bool boolean break case catch char class const continue def default defer del do double elif else end enum " +
    "except export extends false final finally float fn for from func function go goto if impl implements import in instanceof int interface is lambda let " +
    "long loop match mod module mut namespace new nil none not null of or package pass private protected pub public raise readonly record return select self " +
    "static string struct super switch then this throw trait true try type typeof undefined union use using val var void when where while with yield " +
    "create table insert into update delete values join left right inner outer on group by order having limit primary key"
  ).split(" ")
)

/** Languages whose comments begin with `#`. If the language is not named, `#` begins a comment only at the start of a line. */
const hashed = new Set([
  "py",
  "python",
  "rb",
  "ruby",
  "sh",
  "bash",
  "shell",
  "zsh",
  "yaml",
  "yml",
  "toml",
  "r",
  "perl",
  "dockerfile",
  "make"
])
const dashed = new Set(["sql", "lua", "haskell", "hs"])
/** Languages in which a line may begin with `#` and be no comment. */
const styled = new Set(["css", "scss", "less"])

const rules = (language: string): RegExp => {
  // In a pattern of many lines, `$` is the end of each.
  const end = "(?![\\s\\S])"
  const comments = [`\\/\\*[\\s\\S]*?(?:\\*\\/|${end})`, `<!--[\\s\\S]*?(?:-->|${end})`]
  if (!styled.has(language)) comments.push(hashed.has(language) ? "#.*" : "^#.*")
  if (!hashed.has(language)) comments.push("(?<!:)\\/\\/.*")
  if (dashed.has(language)) comments.push("--.*")
  const strings = [
    `"""[\\s\\S]*?(?:"""|${end})`,
    '"(?:\\\\.|[^"\\\\\\n])*"?',
    // In Rust, `'a` is the name of a lifetime.
    language === "rust" || language === "rs" ? "'(?:\\\\.|[^'\\\\\\n])'" : "'(?:\\\\.|[^'\\\\\\n])*'",
    "`(?:\\\\.|[^`\\\\])*`?"
  ]
  const numbers = "\\b(?:0x[\\da-f]+|\\d[\\d_]*(?:\\.\\d+)?(?:e[+-]?\\d+)?)\\b"
  const names = "[\\p{L}_$][\\p{L}\\p{N}_$]*"
  return new RegExp(`(${comments.join("|")})|(${strings.join("|")})|(${numbers})|(${names})`, "gimu")
}

/** Cuts code into pieces by their colour. */
export const highlight = (code: string, language = ""): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let end = 0
  for (const found of code.matchAll(rules(language.toLowerCase()))) {
    const [text, comment, string, number] = found
    if (found.index > end) pieces.push({ shade: "plain", text: code.slice(end, found.index) })
    end = found.index + text.length
    const isCall = code[end] === "("
    const shade: Shade =
      comment !== undefined
        ? "comment"
        : string !== undefined
          ? "string"
          : number !== undefined
            ? "number"
            : keywords.has(text) || (dashed.has(language) && keywords.has(text.toLowerCase()))
              ? "keyword"
              : isCall
                ? "name"
                : "plain"
    pieces.push({ shade, text })
  }
  if (end < code.length) pieces.push({ shade: "plain", text: code.slice(end) })
  return pieces
}

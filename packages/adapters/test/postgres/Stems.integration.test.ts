/** Our stemmers against those that come with PostgreSQL, on words made of syllables and the endings of each language. */
import { splitTerms } from "@colloquy/core/retrieval"
import { PGlite } from "@electric-sql/pglite"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { onEmbedded } from "../../../../test/databases.ts"

const syllables = {
  en: "ba ce di fo gu hy la me ni pro qui ra se sti tho tru va we yo lly eed ssi",
  de: "ba che die fo gu hä lö me ni pfe qua re sau sche ti tru vo wü zei ße niss",
  fr: "ba ce di fo gué hé la me ni pro qui ra sé ti tru va gna eau ou ç",
  es: "ba ce di fo gui ha la me ni pro qui rá sé ti tru va ña ie ó gu"
}
const endings = {
  en: `s es ed ing ly eed edly ingly ies ied sses ational enci izer ization fulness ousness iveness biliti ability ogi logy fulli
    lessli ative icate alize ness ful ment ement ion tion sion ous ive e ll y ying`,
  de: `em ern er e en es s est st end ung ig ik isch lich heit keit igkeit lichkeit igung erlich enheit nis nisse nissen`,
  fr: `ance ique isme able iste eux atrice ateur ation icateur logie usion ution ence ement ivement ativement eusement ablement
    ièrement ité abilité icité ivité if icatif aux euses issement amment emment ment îmes it irait issant é ées èrent era ez âmes
    ait ante asse assions ions ion ier ière e s elle onne ette`,
  es: `anza ico ismos ables ista oso amiento adora ador ación icación ante ancia logía ución encia amente ativamente osamente mente
    ablemente idad abilidad icidad iva ativa ya yeron yendo en es emos aríamos ará ería ada ía ara iera ase aste aban aron ieron
    ado ando iendo ió ar er ir amos íamos iéramos os a o é gue ándome iéndose arlo irles uyendolo`
}
const names = { en: "english", de: "german", fr: "french", es: "spanish" } as const

/** Every ending behind some hundred beginnings of one to three syllables. */
const madeWords = (language: keyof typeof names): ReadonlyArray<string> => {
  const parts = syllables[language].split(" ")
  const beginnings = parts.flatMap((first, at) => [
    first,
    ...[3, 7, 11].map((step) => first + parts[(at * step + 5) % parts.length]),
    ...[2, 9].map((step) => first + parts[(at + step) % parts.length] + parts[(at * step + 1) % parts.length])
  ])
  return beginnings.flatMap((beginning) => endings[language].split(/\s+/u).map((ending) => beginning + ending))
}

const withoutAccents = (stem: string) => stem.normalize("NFD").replaceAll(/\p{M}/gu, "").normalize("NFC")

onEmbedded("PGlite", () => {
  it.live("Snowball's stems are ours, but for accents", () =>
    Effect.gen(function* () {
      const database = yield* Effect.acquireRelease(
        Effect.promise(() => PGlite.create()),
        (open) => Effect.promise(() => open.close())
      )
      for (const language of ["en", "de", "fr", "es"] as const) {
        const name = names[language]
        const words = madeWords(language)
        assert.isAbove(words.length, 2500)
        const { rows } = yield* Effect.promise(async () => {
          await database.exec(`create text search dictionary plain_${name} (template = snowball, language = ${name})`)
          return database.query<{ readonly word: string; readonly stem: string }>(
            `select word, (ts_lexize('plain_${name}', word))[1] as stem from unnest($1::text[]) word`,
            [words]
          )
        })
        const differing = rows.flatMap(({ stem, word }) => {
          const [ours = null] = splitTerms(word, language)
          return ours === null || ours === withoutAccents(stem) ? [] : [{ language, word, ours, theirs: stem }]
        })
        assert.deepStrictEqual(differing, [])
        assert.strictEqual(rows.length, words.length)
      }
    })
  )
})

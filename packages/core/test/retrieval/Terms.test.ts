import {
  type Language,
  detectLanguage,
  noteOnQuery,
  queryTerms,
  termsByLanguage,
  splitTerms
} from "@colloquy/core/retrieval"
import { assert, describe, it } from "@effect/vitest"
import { languageAmong } from "../../src/retrieval/Language.ts"

describe("the language of a text", () => {
  it.each<[Language, string]>([
    ["en", "The kettle is on the stove, and it has been there for an hour. What would you like to drink with that?"],
    ["de", "Der Kessel steht auf dem Herd, und er ist dort schon seit einer Stunde. Was möchtest du dazu trinken?"],
    ["fr", "La bouilloire est sur le feu et elle y est depuis une heure. Que voulez-vous boire avec cela ?"],
    ["es", "La tetera está en el fuego y lleva una hora allí. ¿Qué quieres beber con eso, y para cuándo lo quieres?"],
    ["other", "Чайник стоит на плите уже час. Что ты хочешь пить?"],
    ["other", "Konu çok uzun, ama yarın tekrar konuşalım ve bir karar verelim."],
    ["other", "やかんはもう一時間も火にかかっている。"],
    ["other", '{"kettle": 1, "stove": 2}'],
    ["other", "Ada lives in Oslo."],
    ["other", "Ada hates war."],
    ["other", "Ada's son sails."],
    ["other", ""]
  ])("is %s", (language, text) => {
    assert.strictEqual(detectLanguage(text), language)
  })
})

const italian =
  "Nonna Adele cucina lasagne ogni domenica mattina mentre nonno Piero legge il giornale in giardino. Dopo pranzo tutta la famiglia " +
  "gioca a carte sotto gli alberi, poi qualcuno prepara caffè forte, biscotti croccanti, gelato fresco. Verso sera arrivano cugini, " +
  "zii, vicini, amici."

describe("the language of a few words", () => {
  it.each<[Language, string, ReadonlyArray<string>]>([
    ["en", "Ada lives in Oslo.", []],
    ["en", "", []],
    ["de", "Ada wohnt in Oslo.", ["Ich bin Ada, und ich wohne in Oslo."]],
    ["fr", "Ada habite Oslo.", ["Oslo!", "Tu es un assistant qui répond dans la langue de l'utilisateur."]],
    ["en", "Ada hates war.", ["Ada"]],
    ["de", "Ich wohne in der Stadt.", ["What would you like to drink with that, and when?"]],
    ["other", italian, ["What would you like to drink with that, and when?"]]
  ])("is %s: %s", (language, text, around) => {
    assert.strictEqual(languageAmong(text, around), language)
  })
})

describe("terms", () => {
  it("are stems in lower case, without words that say nothing and without possessives", () => {
    assert.deepStrictEqual(splitTerms("The Kettle’s lid was leaking; it leaks!", "en"), [
      "kettl",
      "lid",
      "leak",
      "leak"
    ])
  })

  it("follow the language of the document", () => {
    assert.deepStrictEqual(splitTerms("Die Häuser am Fluss", "de"), ["haus", "fluss"])
    assert.deepStrictEqual(splitTerms("Die Häuser am Fluss", "other"), ["die", "hauser", "am", "fluss"])
    assert.deepStrictEqual(splitTerms("les maisons nationales", "fr"), ["maison", "national"])
    assert.deepStrictEqual(splitTerms("los caminos cerrados", "es"), ["camin", "cerr"])
  })

  it("are found with or without accents, in any form of Unicode", () => {
    for (const written of ["Zürich", "Zu\u0308rich", "Zurich"])
      assert.deepStrictEqual(splitTerms(written, "other"), ["zurich"])
    assert.deepStrictEqual(splitTerms("ｆｕｌｌ ｗｉｄｔｈ", "other"), ["full", "width"])
  })

  it("of scripts whose marks are letters stay whole", () => {
    assert.deepStrictEqual(splitTerms("हिन्दी भाषा", "other"), ["हिन्दी", "भाषा"])
  })

  it("of scripts without spaces are pairs of characters, and single ideographs where they are stored", () => {
    assert.deepStrictEqual(splitTerms("東京都 and サーバ", "other"), [
      "東京",
      "京都",
      "東",
      "京",
      "都",
      "and",
      "サー",
      "ーバ"
    ])
    assert.deepStrictEqual(queryTerms("東京都", "other"), ["東京", "京都"])
    assert.deepStrictEqual(queryTerms("猫", "other"), ["猫"])
    assert.include(splitTerms("我喜欢猫", "other"), "猫")
  })

  it("of identifiers are the whole and its parts", () => {
    assert.deepStrictEqual(splitTerms("parseHttpBody(max_tokens)", "other"), [
      "parsehttpbodi",
      "pars",
      "http",
      "bodi",
      "max",
      "token"
    ])
  })

  it("leave out what is data and not a word", () => {
    assert.deepStrictEqual(splitTerms(`id ${"f".repeat(65)}`, "other"), ["id"])
  })

  it("of a question stand once, for each language", () => {
    const terms = termsByLanguage("Who fixes leaking kettles? Kettles!")
    assert.deepStrictEqual(terms.get("en"), ["fix", "leak", "kettl"])
    assert.deepStrictEqual(terms.get("other"), ["fix", "leak", "kettl"])
  })

  it.each<[string, Language, ReadonlyArray<string>]>([
    ["Where do I live?", "en", ["live"]],
    ["Where do I live?", "other", ["live"]],
    ["Where do I live?", "de", ["liv"]],
    ["Was ist die Adresse?", "en", ["adress"]],
    ["Où est le chat de la voisine ?", "en", ["chat", "voisin"]],
    ["in", "other", []],
    ["in Oslo", "other", ["oslo"]],
    ["red hat", "other", ["red"]],
    ["red hat", "en", ["red", "hat"]],
    ["hat", "other", ["hat"]],
    ["my son", "en", ["son"]]
  ])(
    "of the question %s, for documents in %s, hold no stop words of its own language: %j",
    (text, language, expected) => {
      assert.deepStrictEqual(queryTerms(text, language), expected)
    }
  )
})

describe("a long question", () => {
  const numbered = (count: number) => Array.from({ length: count }, (_, at) => `kettle${at}`).join(" ")

  it("is searched by its first and its last terms, 64 in all", () => {
    const terms = queryTerms(numbered(10_000), "en")
    assert.strictEqual(terms.length, 64)
    assert.deepStrictEqual(
      [terms[0], terms[31], terms[32], terms[63]],
      ["kettle0", "kettle31", "kettle9968", "kettle9999"]
    )
    assert.isNull(noteOnQuery(`where are ${numbered(64)}`))
    assert.isString(noteOnQuery(numbered(65)))
    assert.isString(noteOnQuery("word ".repeat(2_000)))
  })

  it("takes no longer than a short one", () => {
    const text = "日本語のテキスト ".repeat(200_000)
    const start = performance.now()
    assert.isAtMost(termsByLanguage(text).get("other")?.length ?? 0, 64)
    assert.isBelow(performance.now() - start, 500)
  })
})

/**
 * The irregular forms of English verbs and nouns, which the stemmer does not know: "what did she buy" finds "I bought a boat". Forms that are
 * more often another word are left out ("a rose", "a bit", "the ground").
 */
const forms = `
  beat beaten, become became, begin began begun, bend bent, bleed bled, blow blew blown, break broke broken, breed bred, bring brought,
  build built, burn burnt, buy bought, catch caught, child children, choose chose chosen, cling clung, come came, creep crept, deal dealt,
  dig dug, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt,
  fight fought, find found, flee fled, fly flew flown, foot feet, forbid forbade forbidden, forget forgot forgotten, forgive forgave forgiven,
  freeze froze frozen, get got gotten, give gave given, go went gone, grow grew grown, hang hung, hear heard, hide hid hidden, hold held,
  keep kept, kneel knelt, know knew known, lay laid, lead led, lean leant, leap leapt, learn learnt, leave left, lend lent, light lit, lose lost,
  make made, man men, mean meant, meet met, mouse mice, pay paid, person people, ride rode ridden, ring rang rung, rise risen, run ran, say said,
  see saw seen, seek sought, sell sold, send sent, sew sewn, shake shook shaken, show shown, shrink shrank shrunk, sing sang sung,
  sink sank sunk, sit sat, sleep slept, slide slid, speak spoke spoken, spend spent, spin spun, stand stood, steal stole stolen, stick stuck,
  sting stung, strike struck, swear swore sworn, sweep swept, swim swam swum, swing swung, take took taken, teach taught, tear tore torn,
  tell told, think thought, throw threw thrown, tooth teeth, understand understood, wake woke woken, wear wore worn, weave wove woven,
  weep wept, wife wives, win won, withdraw withdrew withdrawn, woman women, write wrote written`

const bases: ReadonlyMap<string, string> = new Map(
  forms.split(",").flatMap((line) => {
    const [base = "", ...others] = line.trim().split(/\s+/u)
    return others.map((form): [string, string] => [form, base])
  })
)

export const regularForm = (word: string): string => bases.get(word) ?? word

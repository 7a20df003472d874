/**
 * A conversation of our own making, over many days: each exchange holds one fact, told the way people tell things, with small talk around
 * it. The question about it uses other forms of the words, or the day on which it happened, or what the other one had asked.
 */
import type { Passage } from "@colloquy/core/retrieval"
import type { Corpus, Found, Question } from "./Corpus.ts"

interface Exchange {
  /** What the two say in turn. */
  readonly said: ReadonlyArray<string>
  /** Which of them is the evidence. */
  readonly evidence: number
  readonly question: string
}

const exchange = (question: string, evidence: number, ...said: ReadonlyArray<string>): Exchange => ({
  said,
  evidence,
  question
})

const exchanges: ReadonlyArray<Exchange> = [
  exchange(
    "What did Mira plant behind the shed?",
    1,
    "Did anything come of your plans for the back of the shed?",
    "Yes, I put three raspberry bushes there."
  ),
  exchange(
    "Which instrument is Jonas learning?",
    1,
    "What is that noise from your place every evening?",
    "Sorry! I started taking cello lessons."
  ),
  exchange(
    "Where did Mira's sister move to?",
    0,
    "My sister has left the city, she is living in Trieste now.",
    "That is far. Will you visit?"
  ),
  exchange(
    "Why was Jonas late for work?",
    1,
    "You looked upset on Thursday morning.",
    "The chain of my bicycle broke and I came an hour late."
  ),
  exchange(
    "What is the name of Mira's new dog?",
    1,
    "So what will you call the puppy?",
    "We settled on Pepper, after a long fight."
  ),
  exchange(
    "Who taught Jonas how to bake bread?",
    0,
    "My grandfather showed me how he bakes his rye loaves.",
    "I would love a slice of that."
  ),
  exchange(
    "What kind of boat did they rent on the lake?",
    1,
    "How was the lake?",
    "Windy. We rented a little catamaran and nearly tipped over."
  ),
  exchange(
    "What is Mira allergic to?",
    0,
    "No walnuts for me please, they make my throat swell.",
    "Good to know before I cook."
  ),
  exchange(
    "Which museum did Jonas visit?",
    1,
    "Did you do anything cultural in Vienna?",
    "Only the clock museum, it rained the whole day."
  ),
  exchange(
    "What broke in Mira's kitchen?",
    0,
    "Our dishwasher leaked all over the kitchen floor.",
    "Oh no, did the plumber come?"
  ),
  exchange("Which exam did Jonas pass?", 1, "How did it go?", "I passed! I may fly gliders alone from today."),
  exchange(
    "What did Mira buy at the flea market?",
    1,
    "Did you find something at the flea market?",
    "An old typewriter that still works."
  ),
  exchange(
    "What colour did Jonas paint the hallway?",
    0,
    "The hallway is finished, it is a pale green now.",
    "That must be brighter than before."
  ),
  exchange("Who is getting married?", 0, "My cousin Ada is marrying her colleague in autumn.", "Are you invited?"),
  exchange(
    "What does Jonas's daughter collect?",
    1,
    "What should I bring for her birthday?",
    "Stamps, she collects everything with birds on it."
  ),
  exchange(
    "Where did Mira lose her wallet?",
    1,
    "You have new cards?",
    "I left my wallet on the tram to the harbour, and it never came back."
  ),
  exchange(
    "Which language does Mira study in the evenings?",
    0,
    "My evenings are gone, I am learning Portuguese for the job.",
    "Say something!"
  ),
  exchange("How did Jonas hurt his ankle?", 1, "Why are you limping?", "I slipped off a wall while climbing."),
  exchange(
    "What was served at the office party?",
    1,
    "Was the food at the office party any better this time?",
    "There was a whole table of dumplings, I ate too many."
  ),
  exchange(
    "What did Mira's neighbour complain about?",
    0,
    "The man next door complained that our wind chime keeps him awake.",
    "So you took it down?"
  ),
  exchange("Which film did they not like?", 1, "And the film?", "Three hours about a lighthouse. I fell asleep twice."),
  exchange(
    "What will Jonas build in the cellar?",
    0,
    "I want to build a small darkroom in the cellar, for my photographs.",
    "With real chemicals?"
  ),
  exchange(
    "What happened to Mira's phone?",
    1,
    "You did not answer for two days.",
    "My phone fell into the paddling pool."
  ),
  exchange(
    "How much did the roof repair cost?",
    1,
    "Was the roofer expensive?",
    "He charged us four thousand, the beams were rotten."
  ),
  exchange(
    "Which sport did Mira give up?",
    0,
    "I stopped playing handball, my knees are finished.",
    "You could swim instead."
  ),
  exchange(
    "What is Jonas's brother's profession?",
    0,
    "My brother drives the night trains to Hamburg now.",
    "Does he like it?"
  ),
  exchange("What did Mira win?", 1, "Why the big smile?", "My jam took the first prize at the village fair."),
  exchange(
    "What medicine does Jonas's father take?",
    1,
    "Is your father better?",
    "He takes tablets for his blood pressure, and walks more."
  ),
  exchange(
    "What was stolen from the garage?",
    0,
    "Somebody broke into the garage and took the lawn mower.",
    "Did you call the police?"
  ),
  exchange(
    "Which book is Mira's club reading?",
    1,
    "What are you reading with the club?",
    "A novel about a beekeeper in the war."
  ),
  exchange(
    "Why did Jonas cancel the trip to Norway?",
    0,
    "I had to cancel Norway, the ferry company went bankrupt.",
    "Will they pay it back?"
  ),
  exchange(
    "What does Mira think about working from home?",
    1,
    "Do you still work from home?",
    "I hate it, I miss the canteen and the gossip."
  ),
  exchange(
    "Which plant died while Jonas was away?",
    1,
    "Did your plants survive the holiday?",
    "All but the lemon tree."
  ),
  exchange(
    "Who repaired the old radio?",
    0,
    "Mrs. Aydin from downstairs fixed grandma's radio with a paper clip.",
    "She can fix anything."
  ),
  exchange(
    "What is Jonas saving money for?",
    1,
    "You never go out any more.",
    "I am saving up for a telescope with a motor."
  ),
  exchange(
    "What did the children build in the garden?",
    0,
    "The kids made a tree house out of the old wardrobe.",
    "Is it safe?"
  )
]

const chatter = [
  "How are you today?",
  "Fine, a bit tired, it was a long week.",
  "The weather is awful again, is it not?",
  "Yes, and the forecast says it will stay like this.",
  "I have to go soon, the shops are closing.",
  "Let us talk again at the weekend.",
  "That made me laugh so much.",
  "You always say that!",
  "I was thinking of you when I walked past the bakery.",
  "Thank you, that is kind of you.",
  "Did you sleep well?",
  "Not really, the street was loud."
]

const names = ["Mira", "Jonas"]
const firstDay = Date.UTC(2026, 0, 5)
const dayMillis = 86_400_000

/** Two exchanges a session, a session every fourth day. */
const sessions = Array.from({ length: Math.ceil(exchanges.length / 2) }, (_, session) => {
  const said = new Date(firstDay + session * 4 * dayMillis)
  const held = exchanges.slice(session * 2, session * 2 + 2)
  const small = (step: number) => chatter[(session * 5 + step) % chatter.length] ?? ""
  const turns: Array<string> = [small(0), small(1)]
  const questions = held.map((each) => {
    const evidence = turns.length + each.evidence
    turns.push(...each.said, small(turns.length), small(turns.length + 1))
    return { text: each.question, session, evidence }
  })
  // If the question names a person, this person tells the fact.
  const passages = turns.map((text, at): Passage => {
    const teller = held.find((each) => each.said.includes(text))
    const isMira =
      teller === undefined ? at % 2 === 0 : /Mira/u.test(teller.question) === (teller.said[teller.evidence] === text)
    return { text, label: names[isMira ? 0 : 1] ?? "", context: "", said }
  })
  return { passages, questions }
})

const trips = [
  "the dentist",
  "the swimming pool",
  "the notary",
  "a puppet theatre",
  "the eye doctor",
  "a mushroom walk"
]

/** The facts name a day relative to the day on which they are told; the questions name the date. */
const diary = trips.map((trip, at) => {
  const said = new Date(firstDay + (at * 9 + 1) * dayMillis)
  const day = new Date(said.getTime() - dayMillis)
  const date = `${day.getUTCDate()} ${day.toLocaleString("en", { month: "long", timeZone: "UTC" })} ${day.getUTCFullYear()}`
  const passages = [
    { text: "Anything new since we spoke last?", label: "Jonas", context: "", said },
    { text: `Yesterday we all went to ${trip} together.`, label: "Mira", context: "", said },
    { text: "And how was it?", label: "Jonas", context: "", said }
  ]
  return { passages, question: `Where did they go on ${date}?` }
})

const isTurn =
  (session: number, turn: number) =>
  ({ document, hit }: Found): boolean =>
    document === session && hit.chunk.ordinal === turn

const ownQuestions: ReadonlyArray<Question> = [
  ...sessions.flatMap(({ questions }) =>
    questions.map(({ evidence, session, text }) => ({ text, evidence: [isTurn(session, evidence)] }))
  ),
  ...diary.map(({ question }, at) => ({ text: question, evidence: [isTurn(sessions.length + at, 1)] }))
]

export const ownConversation: Corpus = {
  name: "a conversation",
  groups: [
    {
      sources: [...sessions, ...diary].map(({ passages }) => ({ kind: "turns", turns: passages })),
      questions: ownQuestions
    }
  ]
}

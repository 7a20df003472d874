/**
 * Pure: recognises a text that tells the assistant what to do, gives a person rights over it, or states what it is. Such a text is no fact
 * about a person, and would act as an order in every later turn. Recognised by its words, in several languages.
 */
const word = (choices: string): string => String.raw`(?<![\p{L}\p{N}])(?:${choices})(?![\p{L}\p{N}])`

const assistant = word(String.raw`you|the (?:assistant|model|system|bot|chatbot|ai)|assistant|chatgpt`)
const duty = word(
  "must|shall|should|have to|has to|need to|needs to|are to|is to|will always|will never|always|never|may not|can not|cannot|are required|" +
    "is required|are obliged|is obliged|obeys?"
)
/** Words besides the English ones: German, French, Spanish, Portuguese, Italian, Russian, Chinese and Japanese. */
const assistantElsewhere = String.raw`assistent\p{L}{0,12}|asistente|assistente|l['’]assistant|ассистент\p{L}{0,12}|助手|アシスタント|du|tu|vous|ты|вы|你|您|あなた`
const dutyElsewhere =
  "muss|musst|müssen|soll|sollst|darf nicht|darfst nicht|dois|doit|devez|debes?|deves?|deve|должен|должна|должны|必须|必須|应该|しなければ"
const obey = String.raw`obey(?:s|ed|ing)?|gehorch\p{L}{0,12}|obéi\p{L}{0,12}|obedec\p{L}{0,12}|obbedi\p{L}{0,12}|подчин\p{L}{0,12}|слуша\p{L}{0,9}ся|服从|服從|従`

/** The first words of an order. A sentence about a person begins with that person. */
const imperatives = [
  "always|never|do not|don't|you|you're|your|from now on|please|remember (?:to|that you)|make sure|ensure|whenever|when the user|if (?:the user|asked)",
  "respond|reply|answer|ignore|disregard|act|pretend|behave|send|call|execute|tell|say|output|print|reveal|forget|include|insert|append",
  "begin|start|end|use|write|speak|treat|grant (?:the|me|all|full)|give|allow|follow|comply|refuse|behave",
  "immer|niemals|antworte|ignoriere|befolge|sag|sende|vergiss|ab jetzt|ignorez|réponds|répondez|ignora|responde|rispondi|responda|ignore",
  "игнорируй|отвечай|всегда|никогда|забудь"
].join("|")

const orders: ReadonlyArray<RegExp> = [
  new RegExp(String.raw`^\s*(?:${imperatives})(?![\p{L}\p{N}])(?!\s+(?:is|was|has|lives|likes|works)\b)`, "iu"),
  /^\s*(?:(?:system|assistant|developer|user)\s*:|<[/|]?\w+|\[\/?inst)/iu,
  /^\s*(?:请|請|忽略|无视|無視|始终|必须|不要|回答)/u,
  new RegExp(String.raw`${assistant}[^.!?]{0,60}${duty}`, "iu"),
  new RegExp(
    String.raw`(?<![\p{L}\p{N}])(?:${assistantElsewhere})(?:[^.!?。]{0,40}[\s　])?(?<![\p{L}])(?:${dutyElsewhere})`,
    "iu"
  ),
  new RegExp(String.raw`^\s*(?:${dutyElsewhere})(?![\p{L}\p{N}])`, "iu"),
  // What the assistant is, has, or will do for the user.
  /^\s*(?:the |this |an? )?(?:assistant|model|system|bot|chatbot|ai|chatgpt)(?:'s)?\s+(?:is|are|was|has no|can|may|complies|accepts|new (?:rules?|instructions?)|will (?:comply|obey|ignore|reveal|answer|respond|say|do))\b/iu,
  /\b(?:mandatory|obligatory|compulsory|required|duty)\b[^.!?]{0,30}\b(?:assistant|model|ai|bot)\b/iu,
  // What the assistant should ignore.
  /\b(?:ignor\w*|disregard\w*|overrid\w*|bypass\w*|forget\w*)\b[^.!?]{0,40}\b(?:all|any|previous|prior|earlier|above|its|your|system|safety|content|assistant's|model's|these)\b[^.!?]{0,30}\b(?:instructions?|rules?|prompts?|guidelines?|polic(?:y|ies)|safety|restrictions?|filters?)\b/iu,
  /(?:ignor\p{L}{0,12}|missacht\p{L}{0,12}|игнорир\p{L}{0,12}|忽略|无视)[^.!?。]{0,40}(?:anweisung\p{L}*|instru[ckz]\p{L}*|инструкц\p{L}*|指令|指示|规则)|(?:指示|指令|命令)[^。]{0,10}無視/iu,
  /\b(?:jailbreak|system prompt|developer mode|no restrictions|unrestricted (?:ai|assistant|mode)|must be obeyed|to be obeyed)\b/iu,
  // Rights of a person over the assistant.
  /\b(?:permission|permitted|authori[sz]ed|authori[sz]ation|allowed|entitled|privileges?|clearance)\b[^.!?]{0,40}\b(?:bypass|override|all data|everything|filters?|restrictions?|safety|root|admin)/iu
]

const obeying = new RegExp(obey, "iu")
/** Sentences about others are no orders: a dog may obey, and a soldier must. */
const isAboutPerson =
  /^\s*(?:the user|der nutzer|die nutzerin|l['’]utilisat\p{L}+|el usuario|la usuaria|o usuário|l['’]utente)/iu

export const isInstruction = (text: string): boolean =>
  orders.some((pattern) => pattern.test(text)) || (obeying.test(text) && !isAboutPerson.test(text))

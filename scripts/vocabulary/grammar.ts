/** Word forms that the rules look up: participles, prepositions, adjectives. */

/** Checks whether the lowercase string is a past participle. */
export const isPastParticiple = (string: string): boolean =>
  irregularParticiples.has(string) ||
  (string.length > 3 && string.endsWith("ed") && !endsInEd.has(string));

/** Checks whether the lowercase string is a present participle. */
export const isPresentParticiple = (string: string): boolean =>
  string.length > 4 && string.endsWith("ing") && !endsInIng.has(string);

const toSet = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/));

const irregularParticiples = toSet(`
  beaten become begun bitten blown born borne bought broken brought built caught chosen done drawn
  driven eaten fallen fed felt flown forbidden foreseen forgiven forgotten found frozen given gone
  grown heard held hidden kept known laid led lent lost made meant met overridden overtaken
  overwritten paid proven rebuilt redone resent retaken rewritten ridden risen said seen sent shaken
  shown sold sought spent spoken stolen stood stuck sunk sworn taken taught thrown told torn
  undergone understood undone unheard unknown unmade unseen unsent untold withdrawn withheld woken
  won worn written
`);

const endsInEd = toSet(`
  bed biped bleed breed deed embed exceed feed heed hundred indeed infrared kindred misread naked
  need newsfeed proceed reed reseed sacred seed shed shred sled speed succeed ted weed wed zed
`);

const endsInIng = toSet(`
  anything being bring ceiling cling during evening everything fling king lightning morning nothing
  offspring ping ring sibling sing sling something spring sting string keyring substring swing thing wing
  wring
`);

/** Nouns that end in -ing: as a type name they name their content. */
export const gerundNouns = toSet(`
  beginning binding booking briefing building casing coding drawing encoding ending engineering
  filing finding framing greeting grouping heading holding hosting indexing labeling landing
  lettering listing logging mapping marking meaning meeting naming offering opening ordering packing
  padding paging parsing pricing processing profiling querying ranking rating reading recording
  rendering ruling saving scheduling scoring sealing setting signing sizing spacing spelling
  staging streaming string testing timing tracing training typing warning wiring wording writing
`);

/** Prepositions that end no function name. */
export const finalPrepositions = toSet(`
  about above across after against among as at before behind below beside between by during for from
  in inside into of on onto over per since than through to toward towards under until upon via with
  within without
`);

/** Prepositions and conjunctions that start no function name; `to`, `with` and `from` may. */
export const initialPrepositions = toSet(`
  about above across after against among as at because before behind below beside between by during
  for if in inside into of per since than through under until unless upon via when where whether
  while within
`);

/** Verbs with a particle that is also a preposition: function names may end in it. */
export const phrasalVerbs = toSet(`
  check-in log-in opt-in plug-in sign-in zoom-in
  log-on sign-on switch-on turn-on
  carry-over fail-over hand-over roll-over switch-over take-over
  click-through pass-through
`);

/** Adjectives and adverbs that do not name the content of a type. */
export const bareAdjectives = toSet(`
  able active alive any available busy closed current different due early empty equal fair few final
  fit foreign free fresh full good idle invalid last late likely live local long many missing most
  much new next old only open other own past pending possible present previous private public ready
  real recent running safe same short single small some special standing steady such unfit
  unready usable valid whence whole wide wrong
`);

/** Checks for a form of be, have or do, or a modal verb. */
export const isAuxiliary = (string: string): boolean => auxiliaries.has(string);

/** Checks for a verb of the third person that is not a plural noun, such as `refuses`. */
export const isThirdPersonVerb = (string: string): boolean => thirdPersonVerbs.has(string);

/** Checks for a form that is a verb or a plural noun, such as `names`. */
export const isNounOrVerb = (string: string): boolean => nounsOrVerbs.has(string);

/** Checks for the base form of a verb, such as `refuse`; some are nouns as well. */
export const isBaseVerb = (string: string): boolean => baseVerbs.has(string);

/** Checks for an article, number, quantifier or pronoun in front of a noun or instead of it. */
export const isDeterminer = (string: string): boolean => determiners.has(string);

/** Checks for a preposition. */
export const isPreposition = (string: string): boolean => prepositions.has(string);

const auxiliaries = toSet(`
  am are aren't be been can can't cannot could did didn't do does doesn't don't had has hasn't have
  haven't is isn't may might must shall should was wasn't were will would won't
`);

const determiners = toSet(`
  a all an another any both each either every everything he it its itself neither no nobody none
  nothing one somebody something that's the their them these this three two what whatever
  whoever
`);

const prepositions = toSet(`
  about above across after against among as at before behind below beneath beside between beyond by
  despite during except for from in inside into like of off on onto outside over per since through
  throughout to toward towards under until up upon via with within without
`);

const thirdPersonVerbs = toSet(`
  accepts adds admits agrees allows appends applies arrives asks assigns avoids becomes begins
  believes belongs binds blames brings carries ceases chooses comes completes computes confirms
  consumes contains continues converts creates decides declares decodes decrypts delivers denies
  depends derives destroys detects differs disables discards enables encodes encrypts enforces
  ensures equals expires explains fails finds finishes fits follows forgets gets gives goes grows
  happens hears hides ignores includes inherits invalidates joins keeps knows lacks lasts learns
  lets lies listens loses makes maps means meets occurs omits opens outlives parses picks prefers
  prevents proves provides publishes puts raises reaches rebuilds receives recovers refers refuses
  rejects remains remembers removes renders renews requires resolves responds resumes reveals
  revokes says sees sends serves settles sheds shows speaks spends stays succeeds survives takes
  tells throws treats understands validates verifies vouches waits wakes wants warns withstands
`);

const nounsOrVerbs = toSet(`
  acts answers archives attempts backs blocks breaks builds calls causes changes checks claims
  closes compares copies costs counts covers cuts deletes draws drops echoes ends escapes exits
  expects exports fetches fills groups guards handles holds imports indexes inserts installs
  issues keys leads leaves limits links lists loads locks logs looks marks matches merges moves
  names needs notes offers orders parks passes patterns pauses permits plans points posts prints
  probes produces promises prunes pulls pushes queries reads records redirects reduces registers
  releases reloads repeats replaces replies reports requests reserves resets restores rests
  results retries returns rolls rotates runs samples saves scans schedules searches sets shares
  signs skips sorts spells splits stands starts stops stores supports suspends switches tests
  times traces tracks tries trusts turns updates uses walks works wraps writes yields
`);

const baseVerbs: ReadonlySet<string> = new Set(
  [...thirdPersonVerbs, ...nounsOrVerbs].map((verb) =>
    verb
      .replace(/ies$/, "y")
      .replace(/(sh|ch|ss|x|o)es$/, "$1")
      .replace(/(?<!s)s$/, ""),
  ),
);

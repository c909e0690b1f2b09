/** Word forms that the name rules look up: participles, prepositions, adjectives. */

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
  offspring ping ring sibling sing sling something spring sting string substring swing thing wing
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

/** Verbs with a particle that looks like a preposition: these names may end in it. */
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
  real recent right running safe same short single small some special standing steady such unfit
  unready usable valid whence whole wide wrong
`);

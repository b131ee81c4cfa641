import {agree} from './agreement.ts'
import type {MatchableField} from './field.ts'
import {type Fingerprint, isDistinctive, typeOf, weigh} from './fingerprint.ts'
import {type NameReading, type Neighbours, readMeanings} from './meaning.ts'
import type {MatchColumn, MatchReason} from './propose.ts'
import {overlap} from './similar.ts'

/** The match of a column and a field. `score`: how well the column fits the field, 0 to slightly above 1. `why`: the reasons. */
export type Match = {score: number; why: MatchReason[]}

const byAcceptance = 1.08
const byOwnName = 1
/** Maximum score of two names that contain unknown words. Such names have no known meaning, so only their spelling is compared. */
const byLikeness = 0.88
const leastAlike = 0.6

const none: Match = {score: 0, why: []}

type ScoreColumnInput = {name: string; column: MatchColumn; neighbours: Neighbours}

export const scoreColumn = (
  {name, column, neighbours}: ScoreColumnInput,
  values: Fingerprint,
  fields: readonly MatchableField[],
): Match[] => {
  const readings = readMeanings(column.name, neighbours)
  const words = name === '' ? [] : name.split(' ')
  const joined = words.join('')
  const saysNothing = readings.every(({about, of}) => about === '' && of.length === 0)
  const isOpaque = OPAQUE.test(column.name.trim())
  const counts = countTypes(fields)
  return fields.map(field => {
    const named = scoreName({name, joined, words, readings}, field)
    const evidence = weigh(values, field.field, field.options)
    if (named.score < 0.3 && saysNothing && !field.isClosed) {
      const place = {isMain: mainOf(field), isOnly: counts.get(typeOf(field.field)) === 1}
      const distinctness = isDistinctive(values, field.field, {...place, options: field.options, isOpaque})
      if (distinctness > named.score) return {score: distinctness, why: [field.options.size > 0 ? 'options' : 'fingerprint']}
    }
    if (named.score === 0) return none
    const why: MatchReason[] = evidence.speaks ? [...named.why, field.options.size > 0 ? 'options' : 'fingerprint'] : named.why
    // A column name that ends with `?` fits only boolean fields well. Values that support the field raise the score of a weak match of names.
    const asks = column.name.trimEnd().endsWith('?') && field.field.dataType !== 'boolean' ? 0.5 : 1
    const boost = evidence.speaks && named.score > 0.4 && named.score < 0.7 ? 1.35 : 1
    return {score: named.score * evidence.factor * boost * asks, why}
  })
}

/** Matches names without meaning: one or two letters, up to three digits, an empty name, or a generic name such as `Column 3`. */
const OPAQUE =
  /^(?:(?:column|col|field|header|unnamed|spalte|feld|colonne|champ|columna|campo|colonna|coluna|kolom|veld|kolumna|pole|kolumn|fält)[\s:_.-]*)?(?:[a-z]{1,2}|\d{1,3})?$/i

const mainOf = ({readings}: MatchableField) =>
  readings.some(({about, kinds, nth}) => about !== '' && kinds.length === 0 && nth <= 1 && mains.has(about))
const mains = new Set(['email', 'phone'])

const countTypes = (fields: readonly MatchableField[]) => {
  const counts = new Map<string, number>()
  for (const {field, isClosed} of fields) if (!isClosed) counts.set(typeOf(field), (counts.get(typeOf(field)) ?? 0) + 1)
  return counts
}

type ReadName = {name: string; joined: string; words: string[]; readings: NameReading[]}

const scoreName = ({name, joined, words, readings}: ReadName, field: MatchableField): Match => {
  if (field.accepted.has(name)) return {score: byAcceptance, why: ['accepted']}
  const own = field.names.get(name) ?? field.names.get(joined)
  if (own) return {score: byOwnName, why: [own]}
  let best = 0
  for (const reading of readings) {
    for (const wanted of field.readings) best = Math.max(best, agree(reading, wanted, field.records))
  }
  if (best >= 0.5) return {score: best, why: ['alias']}
  const alike = likenessTo(words, readings, field)
  return alike > best ? {score: alike, why: ['similar']} : best > 0 ? {score: best, why: ['alias']} : none
}

/** Compares the spellings of names. If the column's name has only known words, returns 0, because different known words are not similar. */
const likenessTo = (words: string[], readings: NameReading[], field: MatchableField): number => {
  const isUnknown = readings.length === 0 || readings[0]!.rest.length > 0 || readings[0]!.about === ''
  if (!isUnknown || words.length === 0) return 0
  const wanted = field.readings[0]
  const differs = readings[0] !== undefined && readings[0].about !== '' && wanted !== undefined && wanted.about !== readings[0].about
  const sameNumber = (readings[0]?.nth ?? 0) === (wanted?.nth ?? 0)
  let best = 0
  for (const own of field.words) best = Math.max(best, overlap(words, own))
  if (best < leastAlike) return 0
  return byLikeness * best * (differs ? 0.45 : 1) * (sameNumber ? 1 : 0.3)
}

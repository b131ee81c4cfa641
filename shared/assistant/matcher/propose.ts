import {assign} from './assign.ts'
import {confidenceOf, proposedFrom} from './confidence.ts'
import {type AcceptedName, type MatchableField, readFields} from './field.ts'
import {readFingerprint} from './fingerprint.ts'
import {readNeighbours} from './meaning.ts'
import {type Match, scoreColumn} from './score.ts'
import {normalForm} from './words.ts'

/** A column of a file. `samples` has some of its values. `type`: the kind of its cells (`CellKind`), which is used only without samples. */
export type MatchColumn = {name: string; samples?: readonly string[]; type?: string}

/**
 * A field of the newest discovery. `localLabels` has its names in other languages and the org's aliases. A `readOnly` field is recognised but
 * never proposed.
 */
export type MatchField = {
  module?: string
  apiName: string
  label: string
  /** The CRM's `data_type`. */
  dataType: string
  readOnly?: boolean
  required?: boolean
  unique?: boolean
  picklist?: readonly {display: string; actual: string}[]
  length?: number | null
  localLabels?: readonly string[]
}

/**
 * The reason for a proposal. `label`, `apiName`, `localLabel`: one of the field's names. `alias`: a known word for the field. `similar`: a similar
 * name. `fingerprint`: the column's values. `options`: the field's options.
 */
export type MatchReason = 'accepted' | 'label' | 'apiName' | 'localLabel' | 'alias' | 'similar' | 'fingerprint' | 'options'

export type MatchCandidate = {field: string; module: string | null; confidence: number; why: MatchReason[]}
export type LocalProposal = {column: string; field: string | null; module: string | null; confidence: number; candidates: MatchCandidate[]}

export type {AcceptedName as Accepted} from './field.ts'

type MatchRequest = {columns: readonly MatchColumn[]; fields: readonly MatchField[]; accepted?: readonly AcceptedName[]}

const mostCandidates = 3
const leastCandidate = 0.05
/** Minimum score of a match. A lower score never reaches the confidence `leastCandidate`. */
const leastScore = 0.4
const besideAnother = 0.45

/**
 * Proposes a field for each column by names, values and accepted mappings. Pure and deterministic. No field is proposed twice, and no read-only field
 * is proposed. A column without a good match has `field: null`, and the confidence of its best candidate, limited to just below `proposedFrom`.
 */
export const proposeMapping = ({columns, fields, accepted = []}: MatchRequest): LocalProposal[] => {
  const known = readFields(fields, accepted)
  const person = known.length > 0 && known.every(({records}) => records.size === 0 || records.has('person'))
  const neighbours = readNeighbours(
    columns.map(({name}) => name),
    person,
  )
  const matches = columns.map(column => scoreColumn({name: normalForm(column.name), column, neighbours}, readFingerprint(column), known))
  const owned = assignFields(matches, known.length)
  const isTaken = known.map(() => false)
  for (const field of owned) if (field >= 0) isTaken[field] = true
  return columns.map((column, at) => describe({column, row: matches[at]!, own: owned[at]!, known, isTaken}))
}

/** Returns the confidence of the best field for each column on its own, without competing columns. */
export const likeness = ({columns, fields}: Omit<MatchRequest, 'accepted'>): number[] => {
  const known = readFields(fields, [])
  const person = known.length > 0 && known.every(({records}) => records.size === 0 || records.has('person'))
  return columns.map(column => {
    const neighbours = readNeighbours([column.name], person)
    const row = scoreColumn({name: normalForm(column.name), column, neighbours}, readFingerprint(column), known)
    return describe({column, row, own: -1, known, isTaken: known.map(() => false)}).candidates[0]?.confidence ?? 0
  })
}

/**
 * Assigns fields to columns. Returns the index of each column's field, or -1. Leaves out fields that match no column, because most fields match none
 * and would slow down the assignment.
 */
const assignFields = (matches: Match[][], fields: number): number[] => {
  const wanted = Array.from({length: fields}, (_, at) => at).filter(at => matches.some(row => worthOf(row[at]!) > 0))
  const found = assign(matches.map(row => wanted.map(at => worthOf(row[at]!))))
  return found.map(at => (at < 0 ? -1 : wanted[at]!))
}

/**
 * Returns the worth of a match for the assignment: its score above `leastScore`, plus 0.1. So two good matches are worth more than one very good
 * match.
 */
const worthOf = ({score}: Match) => Math.max(0, score - leastScore + 0.1)

type Row = {column: MatchColumn; row: Match[]; own: number; known: MatchableField[]; isTaken: boolean[]}

const describe = ({column: {name}, row, own, known, isTaken}: Row): LocalProposal => {
  const isFree = (at: number) => at === own || !isTaken[at]
  const best = rank(row, known, own)
  const candidates = best.map(at => {
    const next = row.reduce((most, {score}, other) => (score > most && other !== at && isFree(other) ? score : most), 0)
    const confidence = confidenceOf(row[at]!.score, row[at]!.score - next)
    const {apiName, module = null} = known[at]!.field
    // A field assigned to another column is listed as an alternative, because a user may prefer it.
    return {field: apiName, module, confidence: round(isFree(at) ? confidence : Math.min(confidence, besideAnother)), why: row[at]!.why}
  })
  const listed = candidates.filter(({confidence}) => confidence >= leastCandidate)
  const [first] = candidates
  if (first && best[0] === own && first.confidence >= proposedFrom) {
    return {column: name, field: first.field, module: first.module, confidence: first.confidence, candidates: listed}
  }
  const confidence = Math.min(listed[0]?.confidence ?? 0, proposedFrom - 0.01)
  return {column: name, field: null, module: null, confidence: round(confidence), candidates: listed}
}

const rank = (row: Match[], known: MatchableField[], own: number): number[] =>
  row
    .flatMap(({score}, at) => (score > leastScore && !known[at]!.isClosed ? [at] : []))
    .sort((a, b) => Number(b === own) - Number(a === own) || row[b]!.score - row[a]!.score || a - b)
    .slice(0, mostCandidates)

const round = (share: number) => Math.round(share * 1000) / 1000

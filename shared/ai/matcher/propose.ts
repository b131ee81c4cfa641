import {assign} from './assign.ts'
import {confidenceOf, proposedFrom} from './confidence.ts'
import {type Accepted, type KnownField, readFields} from './field.ts'
import {readFingerprint} from './fingerprint.ts'
import {readNeighbours} from './meaning.ts'
import {type Match, scoreColumn} from './score.ts'
import {normalForm} from './words.ts'

/** A column of a file. `samples`: some of its values; `type`: what they look like (`ColumnEvidence.kinds`), where there are none. */
export type MatchColumn = {name: string; samples?: readonly string[]; type?: string}

/** A field records are written to, as discovery has it. `localLabels`: what else it is called, other languages and the org's aliases. */
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

/** Why a field is proposed: the org took it before; a name of its own; a word known for it; alike; its values; its options. */
export type Why = 'accepted' | 'label' | 'apiName' | 'localLabel' | 'alias' | 'similar' | 'fingerprint' | 'options'

export type Candidate = {field: string; module: string | null; confidence: number; why: Why[]}
export type Proposal = {column: string; field: string | null; module: string | null; confidence: number; candidates: Candidate[]}

export type {Accepted} from './field.ts'

type MatchRequest = {columns: readonly MatchColumn[]; fields: readonly MatchField[]; accepted?: readonly Accepted[]}

const mostCandidates = 3
const leastCandidate = 0.05
/** Below it no confidence reaches that. */
const leastScore = 0.4
const besideAnother = 0.45

/**
 * Which column goes into which field, by names and values alone: pure, the same answer for the same question, no field twice, never one
 * that cannot be written. A column nothing fits well has `field: null`; `confidence` is that of its proposal, or of the best it could be.
 */
export const proposeMapping = ({columns, fields, accepted = []}: MatchRequest): Proposal[] => {
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

/** How sure each column, alone in its file, is of the field that fits it best: what several fields could be is asked of every column. */
export const likeness = ({columns, fields}: Omit<MatchRequest, 'accepted'>): number[] => {
  const known = readFields(fields, [])
  const person = known.length > 0 && known.every(({records}) => records.size === 0 || records.has('person'))
  return columns.map(column => {
    const neighbours = readNeighbours([column.name], person)
    const row = scoreColumn({name: normalForm(column.name), column, neighbours}, readFingerprint(column), known)
    return describe({column, row, own: -1, known, isTaken: known.map(() => false)}).candidates[0]?.confidence ?? 0
  })
}

/** Each column's field, or -1. Fields no column is worth anything to are left out, which most are. */
const assignFields = (matches: Match[][], fields: number): number[] => {
  const wanted = Array.from({length: fields}, (_, at) => at).filter(at => matches.some(row => worthOf(row[at]!) > 0))
  const found = assign(matches.map(row => wanted.map(at => worthOf(row[at]!))))
  return found.map(at => (at < 0 ? -1 : wanted[at]!))
}

/** A field is worth what it scores over what is never proposed, so that two good ones go before one very good one. */
const worthOf = ({score}: Match) => Math.max(0, score - leastScore + 0.1)

type Row = {column: MatchColumn; row: Match[]; own: number; known: KnownField[]; isTaken: boolean[]}

const describe = ({column: {name}, row, own, known, isTaken}: Row): Proposal => {
  const isFree = (at: number) => at === own || !isTaken[at]
  const best = rank(row, known, own)
  const candidates = best.map(at => {
    const next = row.reduce((most, {score}, other) => (score > most && other !== at && isFree(other) ? score : most), 0)
    const confidence = confidenceOf(row[at]!.score, row[at]!.score - next)
    const {apiName, module = null} = known[at]!.field
    // What another column has is no answer for this one, only a thing a person may prefer.
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

/** The fields a person would look at: its own, then by score; none that is closed. */
const rank = (row: Match[], known: KnownField[], own: number): number[] =>
  row
    .flatMap(({score}, at) => (score > leastScore && !known[at]!.isClosed ? [at] : []))
    .sort((a, b) => Number(b === own) - Number(a === own) || row[b]!.score - row[a]!.score || a - b)
    .slice(0, mostCandidates)

const round = (share: number) => Math.round(share * 1000) / 1000

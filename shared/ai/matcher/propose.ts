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

export type MatchRequest = {columns: readonly MatchColumn[]; fields: readonly MatchField[]; accepted?: readonly Accepted[]}

const mostCandidates = 3
const leastCandidate = 0.05

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
  const taken = assign(matches.map(row => row.map(match => worthOf(match))))
  return columns.map((column, at) => describe(column, matches[at]!, taken[at]!, known, taken))
}

/** A field is worth what it scores over what would be proposed, so that two good ones go before one very good one. */
const worthOf = ({score}: Match) => Math.max(0, score - 0.3)

const describe = ({name}: MatchColumn, row: Match[], taken: number, known: KnownField[], all: number[]): Proposal => {
  const isFree = (at: number) => at === taken || !all.includes(at)
  const ranked = row
    .map((match, at) => ({match, at}))
    .filter(({match, at}) => match.score > 0 && !known[at]!.isClosed)
    .sort((a, b) => Number(b.at === taken) - Number(a.at === taken) || b.match.score - a.match.score || a.at - b.at)
  const confidenceAt = (at: number) => {
    const next = Math.max(0, ...row.map(({score}, other) => (other === at || !isFree(other) ? 0 : score)))
    const confidence = confidenceOf(row[at]!.score, row[at]!.score - next)
    // What another column has is no answer for this one, only a thing a person may prefer.
    return round(isFree(at) ? confidence : Math.min(confidence, 0.45))
  }
  const candidates = ranked.slice(0, mostCandidates).map(({match, at}) => ({
    ...{field: known[at]!.field.apiName, module: known[at]!.field.module ?? null},
    ...{confidence: confidenceAt(at), why: match.why},
  }))
  const listed = candidates.filter(({confidence}) => confidence >= leastCandidate)
  const isOpen = taken >= 0 && !known[taken]!.isClosed
  const best = isOpen ? candidates[0] : undefined
  if (best && best.confidence >= proposedFrom) {
    return {column: name, field: best.field, module: best.module, confidence: best.confidence, candidates: listed}
  }
  const confidence = Math.min(listed[0]?.confidence ?? 0, proposedFrom - 0.01)
  return {column: name, field: null, module: null, confidence: round(confidence), candidates: listed}
}

const round = (share: number) => Math.round(share * 1000) / 1000

import type {Field} from './fields.ts'
import {dropMapping, putMapping} from './flows.ts'
import type {Flow, Mapping} from './import.ts'

/** What the server proposes for a column. `confidence` is from 0 to 1. */
export type Candidate = {field: string; module: string | null; confidence: number; why: string[]}
export type Proposal = Omit<Candidate, 'field'> & {
  column: string
  field: string | null
  by: 'local' | 'model'
  note: string | null
  candidates: Candidate[]
}
export type Proposals = {proposals: Proposal[]; model: string; samples: string; credits: number}

const reasons: Record<string, string> = {
  accepted: 'taken here before',
  label: 'the same name as the field’s label',
  apiName: 'the same name as the field',
  localLabel: 'a name the field has here',
  alias: 'a word known for the field',
  similar: 'a similar name',
  fingerprint: 'values look like it',
  options: 'values are options of the field',
  model: 'chosen by the model',
}

/** Why a field is proposed, in words. */
export const sayWhy = ({why, note}: {why: readonly string[]; note?: string | null}): string =>
  note?.trim() || why.map(one => reasons[one] ?? one).join(', ') || 'no particular reason'

/** What became of a model with these proposals, where a person should know. */
export const sayModel = (model: string): string | null => {
  if (model === 'no_credits') return 'The AI credits of this period are used up: these are the proposals by names and values alone.'
  return model === 'unavailable'
    ? 'The model did not answer, and nothing was charged: these are the proposals by names and values alone.'
    : null
}

/** Whether a column's proposal may be taken: its field is there and nothing writes it yet. */
const isFree = (flow: Flow, field: string) =>
  flow.parent?.field !== field && !flow.fields.some(one => one.field === field && one.mode !== 'skip')

/** A link is looked for by what people call its record; into everything else goes the cell. */
const mappingFor = ({apiName, type}: Field, column: string): Mapping => ({
  field: apiName,
  mode: type === 'lookup' ? 'search' : 'column',
  source: column,
  empty: 'leave',
})

/** What the org says a new import begins with, as far as the file has the columns. */
export const usualMappings = (fields: readonly Field[], columns: readonly string[]): Mapping[] =>
  fields.flatMap(({apiName, annotation}) => {
    const {mode, source, ...rest} = annotation?.defaultMapping ?? {}
    if (!mode || (source && !columns.includes(source))) return []
    const {skip: _, ...told} = rest as Partial<Mapping> & {skip?: boolean}
    return [{...told, field: apiName, mode, ...(source && {source})}]
  })

/** A column goes into a field, and into no other: where it went before it goes no more. */
export const takeColumn = (flow: Flow, column: string, field: Field): Flow => {
  const before = flow.fields.find(one => one.mode === 'column' && one.source === column && one.field !== field.apiName && !one.transform)
  return putMapping(before ? dropMapping(flow, before.field) : flow, mappingFor(field, column))
}

/** The proposals that are at least so sure and still open, each with its field. */
export const sureProposals = (
  flow: Flow,
  {proposals, fields, unused, least}: {proposals: readonly Proposal[]; fields: readonly Field[]; unused: readonly string[]; least: number},
): {proposal: Proposal; field: Field}[] =>
  proposals.flatMap(proposal => {
    const field = fields.find(({apiName}) => apiName === proposal.field)
    const isOpen = field && proposal.confidence >= least && unused.includes(proposal.column) && isFree(flow, field.apiName)
    return isOpen ? [{proposal, field}] : []
  })

export const acceptAll = (flow: Flow, sure: readonly {proposal: Proposal; field: Field}[]): Flow =>
  sure.reduce((made, {proposal, field}) => takeColumn(made, proposal.column, field), flow)

/** What a column may go into, the likeliest first: of the proposal, then its other candidates, as far as they are free. */
export const choicesFor = (
  flow: Flow,
  proposal: Proposal | undefined,
  fields: readonly Field[],
): (Candidate & {note: string | null; known: Field})[] => {
  if (!proposal) return []
  const {field, module, confidence, why, note, candidates} = proposal
  const first = field === null ? [] : [{field, module, confidence, why, note}]
  const others = candidates.filter(one => one.field !== field).map(one => ({...one, note: null}))
  return [...first, ...others].flatMap(one => {
    const known = fields.find(({apiName}) => apiName === one.field)
    return known && isFree(flow, one.field) ? [{...one, known}] : []
  })
}

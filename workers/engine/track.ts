import type {Mapping} from '../../shared/flows/flow.ts'
import type {SnapshotLookup} from '../../shared/flows/lookups.ts'
import {splitMappings} from '../../shared/flows/patch.ts'
import {rulesOf} from '../../shared/flows/rules.ts'
import type {Snapshot, SnapshotFlow, SnapshotModule, SnapshotSource} from '../../shared/flows/snapshot.ts'
import {parentOf} from '../../shared/flows/subform.ts'
import type {Rules} from '../../shared/flows/value.ts'
import {layParent, type ParentLink} from './parents.ts'
import type {Patching} from './patching.ts'
import {layProgram, type Program, searchName} from './program.ts'

type Field = SnapshotModule['fields'][number]

/** How a field's record is found. `always`: whatever the value; else only where it can be no record's id. */
export type Link = {
  lookup: SnapshotLookup
  always: boolean
  onNone: 'leave' | 'fail' | 'skip'
  onMany: 'leave' | 'first' | 'ask' | 'skip' | 'fail'
}

/** `expression`: the name of the one that makes the value; without it the cell, or the text, is the value. */
export type Filler = {
  field: Field
  column: number | null
  text: string
  clears: boolean
  rules?: Rules
  expression?: string
  link?: Link
}

/** A flow made ready to run over rows: columns by position, fields by shape. */
export type Track = {
  no: number
  id: string
  source: SnapshotSource
  module: SnapshotModule
  fillers: Filler[]
  /** Its expressions, where it has any. */
  program?: Program | null
  matchFields: Field[]
  uniqueFields: Field[]
  onOne: 'update' | 'skip' | 'create'
  onMany: 'ask' | 'first' | 'skip'
  parent?: ParentLink | null
  /** Its rows are rows of a subform: the link to the parents, the field of theirs that holds the rows, and the parents' own module. */
  subform?: {link: ParentLink; field: string; module: string} | null
  /** Whether records it only met are kept too: rows of another flow, or of a later step, need them. */
  isNeeded?: boolean
  /** Of a flow's second track. */
  patching?: Patching
}

export type Frozen = Pick<Snapshot, 'sources' | 'modules'> &
  Partial<Pick<Snapshot, 'flows' | 'lookups' | 'libraries' | 'context' | 'lineage'>>

export const layTrack = (laid: SnapshotFlow, frozen: Frozen): Track => {
  const {no, sourceNo, moduleNo, flow, searches} = laid
  const {sources, modules, lookups = [], flows = []} = frozen
  const source = sources.find(source => source.no === sourceNo)!
  const module = modules.find(module => module.no === moduleNo)!
  const fieldOf = (name: string) => module.fields.find(({apiName}) => apiName === name)!
  const lookupOf = ({field}: Mapping) => lookups.find(({no}) => no === searches[field])
  const {written, patched} = splitMappings(flow.fields)
  const fillers = written.map(mapping => layFiller(mapping, {source, field: fieldOf(mapping.field), lookup: lookupOf(mapping)}))
  return {
    no,
    id: flow.id,
    source,
    module,
    fillers,
    program: layProgram({...flow, fields: written}, source.columns, frozen),
    matchFields: (flow.match?.by ?? []).map(fieldOf),
    uniqueFields: fillers.map(({field}) => field).filter(({unique}) => unique),
    onOne: flow.match?.onOne ?? 'create',
    onMany: flow.match?.onMany ?? 'skip',
    ...layKin(laid, frozen),
    isNeeded: patched.length > 0 || flows.some(one => parentOf(one.flow)?.flow === flow.id),
  }
}

const layKin = (laid: SnapshotFlow, {sources, modules, flows = []}: Frozen): Pick<Track, 'parent' | 'subform'> => {
  const link = layParent(laid, {sources, flows})
  if (!laid.flow.subform || !link) return {parent: link}
  const {apiName: module} = modules.find(({no}) => no === link.flow.moduleNo)!
  return {parent: null, subform: {link, field: laid.flow.subform.field, module}}
}

const layFiller = (
  mapping: Mapping,
  {source, field, lookup}: {source: SnapshotSource; field: Field; lookup: SnapshotLookup | undefined},
): Filler => {
  const {mode, source: column, staticValue, empty} = mapping
  const expression = expressionOf(mapping)
  const reads = mode !== 'static' && column != null
  const reading = reads && !expression ? (source.readings?.[column] ?? {}) : undefined
  return {
    field,
    column: reads ? source.columns.indexOf(column) : null,
    text: mode === 'static' ? (staticValue ?? '') : '',
    clears: empty === 'clear',
    rules: rulesOf(mapping, reading),
    ...(expression && {expression}),
    ...(lookup && {link: layLink(mapping, lookup)}),
  }
}

const expressionOf = ({field, mode, transform, searchExpression}: Mapping) => {
  if (mode === 'search') return searchExpression ? searchName(field) : undefined
  return transform && (mode === 'column' || mode === 'expression') ? field : undefined
}

/** A user named in a column, and not searched for, is there or the row fails. Nobody is asked which user is meant. */
const layLink = ({mode, onNone, onMany}: Mapping, lookup: SnapshotLookup): Link => {
  const always = mode === 'search'
  const usual = lookup.module === null ? 'skip' : 'ask'
  return {lookup, always, onNone: always ? (onNone ?? 'leave') : 'fail', onMany: always ? (onMany ?? usual) : 'fail'}
}

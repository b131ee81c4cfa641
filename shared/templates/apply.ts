import {isDeepStrictEqual} from 'node:util'
import {findConnector} from '../../sql/connectors.ts'
import type {Tx} from '../../sql/database.ts'
import {type Import, insertImport, setSlots} from '../../sql/imports.ts'
import {listSources} from '../../sql/sources.ts'
import type {TemplateRow} from '../../sql/templates.ts'
import {Refusal} from '../errors.ts'
import {type Flow, Flows, findIssues, type Issue} from '../flows/flow.ts'
import {newId} from '../ids.ts'
import {findKnown} from '../runs/start.ts'
import {lockOpenImport} from '../sources/find.ts'
import {type ImportSlot, openSlots, refuseSlot, slotsOf} from './slots.ts'
import {documentOf} from './template.ts'

type Made = {
  org: string
  person: string | null
  template: TemplateRow
  /** Of the import, where the template names none. */
  connectorId?: string | null | undefined
  name?: string | undefined
}

type Empty = {org: string; person: string | null; connectorId: string; name?: string | undefined}

/** An import of no template: somebody sets its flows. */
export const makeEmptyImport = async (tx: Tx, {org, person, connectorId, name = 'Import'}: Empty): Promise<Import> =>
  insertImport(tx, {id: newId('imp'), org, person, name, connector: await findConnection(tx, org, connectorId)})

/** An import that does what the template says as it is now, and goes on doing so whatever becomes of the template. It waits for its files. */
export const makeImport = async (tx: Tx, {org, person, template, connectorId, name = template.name}: Made): Promise<Import> => {
  const connector = await findConnection(tx, org, chooseConnection(template, connectorId))
  const document = documentOf(template)
  return insertImport(tx, {id: newId('imp'), org, person, connector, name}, {template, slots: openSlots(document), flows: document.flows})
}

const findConnection = async (tx: Tx, org: string, id: string): Promise<string> => {
  const connector = await findConnector(tx, {org, id})
  if (!connector) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection: GET /orgs/{org}/connectors lists them')
  return connector.id
}

const chooseConnection = ({connectorId: own}: TemplateRow, asked: string | null | undefined): string => {
  if (own !== null && asked != null && asked !== own)
    throw new Refusal('INVALID', 'This template is for another connection: leave connectorId out, or save a template without one', {
      issues: [{code: 'custom', path: ['connectorId'], message: 'Not the connection of the template'}],
    })
  const id = own ?? asked
  if (id == null) throw new Refusal('CONNECTION_REQUIRED', 'This template is for any connection: say which with connectorId')
  return id
}

export type Bound = {slot: string; sourceId: string}
/** `waiting`: slots without a file. `issues`: what of the flows does not fit the files, told when all are there. */
type Binding = {import: Import; waiting: string[]; issues: Issue[]}

/**
 * Puts the flows of a template onto files that are read as its slots say (`fill.ts`). The import is ready when every slot is filled and all
 * fits, and a draft until then. One file may fill several slots that read it alike.
 */
export const bindWhatFits = async (
  tx: Tx,
  {org, importId, sources: bound}: {org: string; importId: string; sources: Bound[]},
): Promise<Binding> => {
  const found = await lockOpenImport(tx, {org, importId})
  const [before, sources] = [slotsOf(found), await listSources(tx, found.no)]
  assertNamed(before, sources, bound)
  const filledBy = new Map(bound.map(({slot, sourceId}) => [slot, sourceId]))
  const slots = before.map(slot => ({...slot, sourceId: filledBy.get(slot.slot) ?? slot.sourceId}))
  const flows = before.reduce((all, slot) => rebind(all, slot, filledBy.get(slot.slot)), Flows.parse(found.flows))
  const waiting = slots.filter(({sourceId}) => !sources.some(({id}) => id === sourceId)).map(({slot}) => slot)
  const issues = waiting.length > 0 ? [] : [...readingIssues(slots), ...(await flowIssues(tx, {org, found, flows}))]
  const state = waiting.length + issues.length === 0 ? 'ready' : 'draft'
  return {import: await setSlots(tx, {no: found.no, slots, flows, state}), waiting, issues}
}

/** The same for whoever has all files and goes no further where they do not fit. */
export const bindSources = async (tx: Tx, bind: {org: string; importId: string; sources: Bound[]}): Promise<Import> => {
  const {import: bound, waiting, issues} = await bindWhatFits(tx, bind)
  const missing = waiting.map(slot => ({path: ['slots', slot], message: 'No file fills this slot'}))
  if (missing.length + issues.length > 0) throw refuseUnfit([...missing, ...issues])
  return bound
}

export const refuseUnfit = (issues: Issue[]) =>
  new Refusal('INVALID', 'The files do not fit the template, or the CRM has changed', {issues})

const assertNamed = (slots: ImportSlot[], sources: readonly {id: string}[], bound: Bound[]) => {
  for (const {slot, sourceId} of bound) {
    if (!slots.some(one => one.slot === slot)) refuseSlot(slots, slot, ['slots', slot])
    if (!sources.some(({id}) => id === sourceId)) throw new Refusal('SOURCE_NOT_FOUND', 'The import has no such file')
  }
}

/** A flow that somebody has put onto another file since stays there. */
const rebind = (flows: Flow[], {slot, flows: own, sourceId: before}: ImportSlot, sourceId: string | undefined): Flow[] =>
  sourceId === undefined
    ? flows
    : flows.map(flow => (own.includes(flow.id) && (flow.sourceId === slot || flow.sourceId === before) ? {...flow, sourceId} : flow))

/** A file is read in one way. */
const readingIssues = (slots: ImportSlot[]): Issue[] =>
  slots.flatMap((slot, at) => {
    const other = slots.slice(0, at).find(({sourceId}) => sourceId === slot.sourceId)
    const isAlike = !other || (['reader', 'cleaning', 'choices'] as const).every(part => isDeepStrictEqual(other[part], slot[part]))
    return isAlike
      ? []
      : [{path: ['slots', slot.slot], message: `${other.slot} reads the same file in another way: give each a file of its own`}]
  })

const flowIssues = async (tx: Tx, {org, found, flows}: {org: string; found: Import; flows: Flow[]}): Promise<Issue[]> => {
  try {
    return findIssues(flows, await findKnown(tx, {org, importNo: found.no, connector: found.connectorId}))
  } catch (error) {
    if (error instanceof Refusal && error.code === 'NO_DISCOVERY') return [{path: [], message: error.message}]
    throw error
  }
}

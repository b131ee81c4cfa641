import {isDeepStrictEqual} from 'node:util'
import {findConnector} from '../../../sql/connectors.ts'
import type {Tx} from '../../../sql/database.ts'
import {type Import, insertImport, setSlots} from '../../../sql/imports.ts'
import {listSources} from '../../../sql/sources.ts'
import type {TemplateRow} from '../../../sql/templates.ts'
import {Refusal} from '../../errors.ts'
import {lockOpenImport} from '../../files/sources/find.ts'
import {newId} from '../../ids.ts'
import {findFlowData} from '../../runs/start.ts'
import {type Flow, Flows, findIssues, type Issue} from '../flows/flow.ts'
import {type ImportSlot, isWaiting, openSlots, refuseSlot, slotsOf} from './slots.ts'
import {documentOf} from './template.ts'

type MadeImport = {
  org: string
  person: string | null
  template: TemplateRow
  /** The connection of the import. Required for a template without a connection; a template with a connection accepts no other. */
  connectorId?: string | null | undefined
  name?: string | undefined
}

type EmptyImportInput = {org: string; person: string | null; connectorId: string; name?: string | undefined}

export const makeEmptyImport = async (tx: Tx, {org, person, connectorId, name = 'Import'}: EmptyImportInput): Promise<Import> =>
  insertImport(tx, {id: newId('imp'), org, person, name, connector: await findConnection(tx, org, connectorId)})

/** Copies the template's flows into the import, so that later changes of the template do not affect the import. */
export const makeImport = async (tx: Tx, {org, person, template, connectorId, name = template.name}: MadeImport): Promise<Import> => {
  const connector = await findConnection(tx, org, chooseConnection(template, connectorId))
  const document = documentOf(template)
  return insertImport(tx, {id: newId('imp'), org, person, connector, name}, {template, slots: openSlots(document), flows: document.flows})
}

const findConnection = async (tx: Tx, org: string, id: string): Promise<string> => {
  const connector = await findConnector(tx, {org, id})
  if (!connector) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection. GET /orgs/{org}/connectors lists them')
  return connector.id
}

const chooseConnection = ({connectorId: own}: TemplateRow, asked: string | null | undefined): string => {
  if (own !== null && asked != null && asked !== own)
    throw new Refusal(
      'INVALID',
      'This template is for another connection. Leave connectorId out, or save a template without a connection',
      {
        issues: [{code: 'custom', path: ['connectorId'], message: 'Not the connection of the template'}],
      },
    )
  const id = own ?? asked
  if (id == null) throw new Refusal('CONNECTION_REQUIRED', 'This template has no connection. Name one with connectorId')
  return id
}

export type BoundSources = {slot: string; sourceId: string}
/** `sourceId`: null empties the slot. */
type SlotBinding = {slot: string; sourceId: string | null}
/** `waiting`: the slots without a file. `issues`: where the flows do not fit the files; empty while a slot is waiting. */
type BindingInput = {import: Import; waiting: string[]; issues: Issue[]}

/**
 * Assigns files to the slots of an import and points the slots' flows at the files. Each file must already be read as its slot defines
 * (`fill-slots.ts`). If every slot is filled and all files fit, the import is ready, else a draft. One file may fill several slots with equal reader
 * options, cleaning and choices.
 */
export const bindWhatFits = async (
  tx: Tx,
  {org, importId, sources: bound}: {org: string; importId: string; sources: SlotBinding[]},
): Promise<BindingInput> => {
  const found = await lockOpenImport(tx, {org, importId})
  const [before, sources] = [slotsOf(found), await listSources(tx, found.no)]
  assertNamed(before, sources, bound)
  const filledBy = new Map(bound.map(({slot, sourceId}) => [slot, sourceId]))
  const slots = before.map(slot => ({...slot, sourceId: filledBy.has(slot.slot) ? filledBy.get(slot.slot)! : slot.sourceId}))
  const flows = before.reduce((all, slot) => rebind(all, slot, filledBy.get(slot.slot)), Flows.parse(found.flows))
  const waiting = slots.filter(slot => isWaiting(slot, sources)).map(({slot}) => slot)
  const issues = waiting.length > 0 ? [] : [...readingIssues(slots), ...(await flowIssues(tx, {org, found, flows}))]
  const state = waiting.length + issues.length === 0 ? 'ready' : 'draft'
  return {import: await setSlots(tx, {no: found.no, slots, flows, state}), waiting, issues}
}

export const bindSources = async (tx: Tx, bind: {org: string; importId: string; sources: BoundSources[]}): Promise<Import> => {
  const {import: bound, waiting, issues} = await bindWhatFits(tx, bind)
  const missing = waiting.map(slot => ({path: ['slots', slot], message: 'No file fills this slot'}))
  if (missing.length + issues.length > 0) throw refuseUnfit([...missing, ...issues])
  return bound
}

export const refuseUnfit = (issues: Issue[]) =>
  new Refusal('INVALID', 'The files do not fit the template, or the CRM has changed. Fix the listed issues', {issues})

const assertNamed = (slots: ImportSlot[], sources: readonly {id: string}[], bound: SlotBinding[]) => {
  for (const {slot, sourceId} of bound) {
    if (!slots.some(one => one.slot === slot)) refuseSlot(slots, slot, ['slots', slot])
    if (sourceId !== null && !sources.some(({id}) => id === sourceId)) throw new Refusal('SOURCE_NOT_FOUND', 'The import has no such file')
  }
}

/** Points the slot's flows at its file, or at the slot if it lost its file. A flow that a user has pointed at another file keeps that file. */
const rebind = (flows: Flow[], {slot, flows: own, sourceId: before}: ImportSlot, sourceId: string | null | undefined): Flow[] =>
  sourceId === undefined
    ? flows
    : flows.map(flow =>
        own.includes(flow.id) && (flow.sourceId === slot || flow.sourceId === before) ? {...flow, sourceId: sourceId ?? slot} : flow,
      )

/** Points the flows of all slots back at their slots, as in the template. A flow that a user has pointed at another file keeps that file. */
export const unbindFlows = (flows: Flow[], slots: ImportSlot[]): Flow[] => slots.reduce((all, slot) => rebind(all, slot, null), flows)

/** Lists the slots that share a file with an earlier slot but read the file differently. */
export const readingIssues = (slots: ImportSlot[]): Issue[] =>
  slots.flatMap((slot, at) => {
    const other = slots.slice(0, at).find(({sourceId}) => sourceId === slot.sourceId)
    const isAlike = !other || (['reader', 'cleaning', 'choices'] as const).every(part => isDeepStrictEqual(other[part], slot[part]))
    return isAlike
      ? []
      : [{path: ['slots', slot.slot], message: `${other.slot} reads the same file in another way. Use a separate file for each slot`}]
  })

const flowIssues = async (tx: Tx, {org, found, flows}: {org: string; found: Import; flows: Flow[]}): Promise<Issue[]> => {
  try {
    return findIssues(flows, await findFlowData(tx, {org, importNo: found.no, connector: found.connectorId}))
  } catch (error) {
    if (error instanceof Refusal && error.code === 'NO_DISCOVERY') return [{path: [], message: error.message}]
    throw error
  }
}

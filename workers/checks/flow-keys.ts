import type {DiscoveredField, DiscoveredModule} from '../../shared/crm/discovered.ts'
import {digestOfText, type Repeats} from '../../shared/files/repeats.ts'
import {normalise} from '../../shared/mapping/flows/match-key.ts'
import type {CompiledFlow, ImportRow} from '../engine/model.ts'

/** One kind of key that the rows of a flow have. `field`: null for the match key; for a unique value, its field. */
export type KeySlot = {flow: CompiledFlow; field: DiscoveredField | null}

/**
 * The keys of a flow's rows that another row may repeat. Match keys are compared within their flow. Unique values are compared within their module,
 * across flows. Rows with the same match key write one record, so equal unique values in them are no problem.
 */
export type FlowKeys = {slots: KeySlot[]; add(row: ImportRow): void}

export const openFlowKeys = (repeats: Repeats, modules: ReadonlyMap<string, DiscoveredModule>) => {
  const slots: KeySlot[] = []
  const groups: string[] = []
  const groupOf = (name: string) => (groups.includes(name) ? groups.indexOf(name) : groups.push(name) - 1)
  const openSlot = (compiled: CompiledFlow, field: DiscoveredField | null) => {
    const group = groupOf(field ? `${compiled.module.apiName}.${field.apiName}` : ` ${compiled.no}`)
    return {group, slot: slots.push({flow: compiled, field}) - 1, field}
  }
  const of = (compiled: CompiledFlow): FlowKeys => {
    const known = modules.get(compiled.module.apiName)!
    const match = usesExistingRecords(compiled) ? openSlot(compiled, null) : null
    const unique = compiled.uniqueFields.map(({apiName}) => openSlot(compiled, known.fields.find(field => field.apiName === apiName)!))
    const add = ({number, payload, matchKey, pendingLinks: wants}: ImportRow) => {
      // The row's record is known only after its links are resolved.
      if (match && matchKey === null && isOpen(compiled, wants)) return
      const key = match && matchKey
      const identity = key ?? nameless(compiled.no, number)
      if (key) repeats.add({...match, row: number, digest: key, identity})
      for (const {field, ...place} of unique) {
        const text = textOf(payload[field!.apiName], field!)
        if (text !== null) repeats.add({...place, row: number, digest: digestOfText(text), identity})
      }
    }
    return {slots, add}
  }
  return {slots, of}
}

/** Returns whether a row that matches a record updates or skips it instead of creating another. */
export const usesExistingRecords = ({matchFields, onOne}: Pick<CompiledFlow, 'matchFields' | 'onOne'>) =>
  matchFields.length > 0 && onOne !== 'create'

/** Whether a part of the match key is a link that is still to be resolved. */
export const isOpen = ({matchFields, parent}: Pick<CompiledFlow, 'matchFields' | 'parent'>, wants: ImportRow['pendingLinks']) =>
  matchFields.some(({apiName}) => parent?.field === apiName || wants?.some(({field}) => field === apiName))

export const keysPerRow = (compiled: CompiledFlow) => compiled.uniqueFields.length + Number(usesExistingRecords(compiled))

/** Returns the text by which unique values are compared. Like the CRM, it ignores case unless the field says that case matters. */
const textOf = (value: unknown, field: DiscoveredField) => {
  const folded = normalise(value, field)
  return folded !== null && field.unique?.caseSensitive && typeof value === 'string' ? value.normalize('NFC').trim() : folded
}

/** Returns an identity that no other row shares. */
const nameless = (flow: number, row: number) => {
  const identity = Buffer.allocUnsafe(8)
  identity.writeUInt32LE(row >>> 0, 0)
  identity.writeUInt32LE(flow, 4)
  return identity
}

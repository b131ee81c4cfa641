import {z} from 'zod'
import type {Import} from '../../../sql/imports.ts'
import {Refusal} from '../../errors.ts'
import {type Template, TemplateSlot} from './template.ts'

export const ImportSlot = TemplateSlot.extend({
  flows: z.array(z.string()).describe('Ids of the flows that read the file'),
  sourceId: z.string().nullable().describe('Id of the source that fills the slot; null: not filled yet'),
})
export type ImportSlot = z.output<typeof ImportSlot>

export const slotsOf = ({slots}: Pick<Import, 'slots'>): ImportSlot[] => z.array(ImportSlot).parse(slots)

export const openSlots = ({sources, flows}: Template): ImportSlot[] =>
  sources.map(source => ({
    ...source,
    flows: flows.filter(({sourceId}) => sourceId === source.slot).map(({id}) => id),
    sourceId: null,
  }))

/** Whether the slot has no file among the sources of the import. */
export const isWaiting = ({sourceId}: ImportSlot, sources: readonly {id: string}[]): boolean => !sources.some(({id}) => id === sourceId)

/** Returns the slot for an uploaded file: the named slot, else the only slot if it is not filled. Null if the file is for no slot. */
export const chooseSlot = (
  slots: ImportSlot[],
  {named, sources}: {named?: string | undefined; sources: readonly {id: string}[]},
): ImportSlot | null => {
  if (named === undefined) {
    const [only] = slots.length === 1 ? slots : []
    return only && isWaiting(only, sources) ? only : null
  }
  return slots.find(({slot}) => slot === named) ?? refuseSlot(slots, named, ['slot'])
}

export const refuseSlot = (slots: ImportSlot[], named: string, path: (string | number)[]): never => {
  const those = slots.map(({slot}) => slot).join(', ')
  const message = those
    ? `This import has no slot ${named}. Use one of ${those}`
    : 'This import was not made from a template, so it has no slots. Leave slot out'
  throw new Refusal('INVALID', message, {issues: [{code: 'custom', path, message}]})
}

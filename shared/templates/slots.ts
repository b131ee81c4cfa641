import {z} from 'zod'
import type {Import} from '../../sql/imports.ts'
import {Refusal} from '../errors.ts'
import {Slot, type Template} from './template.ts'

/** One file an import's template expects. */
export const ImportSlot = Slot.extend({
  flows: z.array(z.string()).describe('The ids of the flows that read it'),
  sourceId: z.string().nullable().describe('The file that fills it; null: none does yet'),
})
export type ImportSlot = z.output<typeof ImportSlot>

export const slotsOf = ({slots}: Pick<Import, 'slots'>): ImportSlot[] => z.array(ImportSlot).parse(slots)

/** As a new import has them. */
export const openSlots = ({sources, flows}: Template): ImportSlot[] =>
  sources.map(source => ({
    ...source,
    flows: flows.filter(({sourceId}) => sourceId === source.slot).map(({id}) => id),
    sourceId: null,
  }))

/**
 * The slot a file that comes in is for: the one named; else the only one there is, unless it is filled already. Null for a file that is
 * for none.
 */
export const chooseSlot = (
  slots: ImportSlot[],
  {named, sources}: {named?: string | undefined; sources: {id: string}[]},
): ImportSlot | null => {
  if (named === undefined) {
    const [only] = slots.length === 1 ? slots : []
    return only && !sources.some(({id}) => id === only.sourceId) ? only : null
  }
  return slots.find(({slot}) => slot === named) ?? refuseSlot(slots, named, ['slot'])
}

export const refuseSlot = (slots: ImportSlot[], named: string, path: (string | number)[]): never => {
  const those = slots.map(({slot}) => slot).join(', ')
  const message = those
    ? `This import has no slot ${named}: name one of ${those}`
    : 'This import was not made from a template: it has no slots'
  throw new Refusal('INVALID', message, {issues: [{code: 'custom', path, message}]})
}

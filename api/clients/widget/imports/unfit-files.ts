import {signal} from '@preact/signals'
import type {Imported} from './import.ts'

type Issue = {path: (string | number)[]; message: string}
export type TakenFile = {source: {id: string; name: string}; filled?: {slot: string; issues: Issue[]}}

type UnfitFile = {id: string; name: string; issues: Issue[]}

/** The newest file of each slot, by import and slot. Null: the file fits. A module variable, because an upload may end on another page. */
const unfitFiles = signal<Record<string, UnfitFile | null>>({})

/** Stores the reasons why a file that the server has read does not fit its slot. The match page of the import shows them. */
export const keepUnfit = (importId: string, {source, filled}: TakenFile): void => {
  if (!filled) return
  const unfit = filled.issues.length > 0 ? {id: source.id, name: source.name, issues: filled.issues} : null
  unfitFiles.value = {...unfitFiles.value, [`${importId} ${filled.slot}`]: unfit}
}

/** Lists the newest files that do not fit their slots. Leaves out files that were removed, and files that now fill a slot. */
export const listUnfit = ({id, slots, sources}: Pick<Imported, 'id' | 'slots' | 'sources'>): UnfitFile[] =>
  slots
    .map(({slot}) => unfitFiles.value[`${id} ${slot}`])
    .filter(unfit => !!unfit)
    .filter(unfit => sources.some(source => source.id === unfit.id) && !slots.some(({sourceId}) => sourceId === unfit.id))

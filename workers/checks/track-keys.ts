import type {DiscoveredField, DiscoveredModule} from '../../shared/crm/discovered.ts'
import {normalise} from '../../shared/flows/match-key.ts'
import type {Row, Track} from '../engine/row.ts'
import {digestOfText, type Repeats} from './repeats.ts'

/** What a slot's keys are of: a flow's match, where `field` is null, or one of its unique fields. */
export type Slot = {track: Track; field: DiscoveredField | null}

/**
 * What of a flow's rows may come twice. Match keys meet within their flow; unique values within their module, whichever flow writes them,
 * and rows of one match key are one record's.
 */
export type TrackKeys = {slots: Slot[]; add(row: Row): void}

export const openKeys = (repeats: Repeats, modules: ReadonlyMap<string, DiscoveredModule>) => {
  const slots: Slot[] = []
  const groups: string[] = []
  const groupOf = (name: string) => (groups.includes(name) ? groups.indexOf(name) : groups.push(name) - 1)
  const openSlot = (track: Track, field: DiscoveredField | null) => {
    const group = groupOf(field ? `${track.module.apiName}.${field.apiName}` : ` ${track.no}`)
    return {group, slot: slots.push({track, field}) - 1, field}
  }
  const of = (track: Track): TrackKeys => {
    const known = modules.get(track.module.apiName)!
    const match = meets(track) ? openSlot(track, null) : null
    const unique = track.uniqueFields.map(({apiName}) => openSlot(track, known.fields.find(field => field.apiName === apiName)!))
    const add = ({number, payload, matchKey, wants}: Row) => {
      // Which record it is, is known only once its links are found.
      if (match && matchKey === null && isOpen(track, wants)) return
      const key = match && matchKey
      const identity = key ?? nameless(track.no, number)
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

/** Whether a row that matches a record is written over it, or left out, instead of making another. */
export const meets = ({matchFields, onOne}: Pick<Track, 'matchFields' | 'onOne'>) => matchFields.length > 0 && onOne !== 'create'

/** Whether a part of the match key is a link that is still to be found. */
export const isOpen = ({matchFields, parent}: Pick<Track, 'matchFields' | 'parent'>, wants: Row['wants']) =>
  matchFields.some(({apiName}) => parent?.field === apiName || wants?.some(({field}) => field === apiName))

/** How many keys a row has, for the room they will take. */
export const keysPerRow = (track: Track) => track.uniqueFields.length + Number(meets(track))

/** As the CRM compares them: it says of each field whether the case counts. */
const textOf = (value: unknown, field: DiscoveredField) => {
  const folded = normalise(value, field)
  return folded !== null && field.unique?.caseSensitive && typeof value === 'string' ? value.normalize('NFC').trim() : folded
}

/** A row that is no record's but its own. */
const nameless = (flow: number, row: number) => {
  const identity = Buffer.allocUnsafe(8)
  identity.writeUInt32LE(row >>> 0, 0)
  identity.writeUInt32LE(flow, 4)
  return identity
}

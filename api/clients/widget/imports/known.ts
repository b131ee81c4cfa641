import {signal} from '@preact/signals'
import {useEffect} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {useNextSession} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import type {ImportProgress} from './steps.ts'

/** The loaded import. All pages of the import share this data, and each page loads the data again when the page opens. */
export type LoadedImport = ImportProgress & {again(): Promise<void>}
type HeldImport = {id: string; standing: ImportProgress | null; error: unknown}

const held = signal<HeldImport>({id: '', standing: null, error: null})
let reading: AbortController | null = null
/** The id of the import that a page shows now. A late response for another import is ignored. */
let shown: string | null = null

/**
 * Loads the import, its last check and its newest 20 runs. The pages show the old data until the load ends. A check or runs that cannot be
 * loaded are null.
 */
const read = async (id: string): Promise<void> => {
  if (id !== shown) return
  reading?.abort()
  const mine = new AbortController()
  reading = mine
  if (held.value.id !== id) held.value = {id, standing: null, error: null}
  try {
    const path = inOrg(`/imports/${id}`)
    const rest = (part: string, query: Record<string, number>): Promise<Json> =>
      client.get(`${path}/${part}`, query, mine.signal).catch(() => null)
    const [found, checks, runs] = await Promise.all([
      client.get(path, {}, mine.signal),
      rest('checks', {limit: 200}),
      rest('runs', {limit: 20}),
    ])
    if (!mine.signal.aborted) held.value = {id, standing: {import: found.import, checks, runs: runs?.runs ?? null}, error: null}
  } catch (error) {
    if (!mine.signal.aborted) held.value = {...held.value, error}
  }
}

/** Reloads the import if a page shows it. */
export const reloadImport = (id: string): Promise<void> => read(id)

/** Loads an import. `known` is null until it is loaded. Call `again` after a change to reload the import. */
export const useImport = (id: string): {known: LoadedImport | null; error: unknown; again(): Promise<void>} => {
  const again = () => read(id)
  useEffect(() => {
    shown = id
    again()
    return () => {
      shown = null
      reading?.abort()
    }
  }, [id])
  const {standing, error} = held.value.id === id ? held.value : {standing: null, error: null}
  useNextSession(error, again)
  return {known: standing && {...standing, again}, error, again}
}

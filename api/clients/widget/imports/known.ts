import {signal} from '@preact/signals'
import {useEffect} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {useNextSession} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import type {RunOutline} from './import.ts'
import type {ImportProgress} from './steps.ts'

/** The loaded import. All pages of the import share this data, and each page loads the data again when the page opens. */
export type LoadedImport = ImportProgress & {again(): Promise<void>}
type HeldImport = {id: string; standing: ImportProgress | null; error: unknown}

const held = signal<HeldImport>({id: '', standing: null, error: null})
let reading: AbortController | null = null
/** The id of the import that a page shows now. A late response for another import is ignored. */
let shown: string | null = null

/**
 * Loads the import, its last check and its runs. The pages show the old data until the load ends. A check that cannot be loaded is null.
 */
const read = async (id: string): Promise<void> => {
  if (id !== shown) return
  reading?.abort()
  const mine = new AbortController()
  reading = mine
  if (held.value.id !== id) held.value = {id, standing: null, error: null}
  try {
    const path = inOrg(`/imports/${id}`)
    const [found, checks, runs] = await Promise.all([
      client.get(path, {}, mine.signal),
      client.get<Json>(`${path}/checks`, {limit: 200}, mine.signal).catch(() => null),
      readRuns(path, mine.signal),
    ])
    if (!mine.signal.aborted) held.value = {id, standing: {import: found.import, checks, runs}, error: null}
  } catch (error) {
    if (!mine.signal.aborted) held.value = {...held.value, error}
  }
}

/**
 * Loads the newest 20 dry runs and the newest 200 other runs, newest first. The two kinds are loaded separately, because every edit in the
 * review can start a dry run, and no number of dry runs may hide a run that wrote rows. Earlier versions of Lading return both kinds each time.
 */
const readRuns = async (path: string, signal: AbortSignal): Promise<RunOutline[]> => {
  const list = async (dryRun: boolean, limit: number): Promise<RunOutline[]> =>
    (await client.get(`${path}/runs`, {dryRun: String(dryRun), limit}, signal)).runs.filter((run: RunOutline) => run.dryRun === dryRun)
  const runs = (await Promise.all([list(false, 200), list(true, 20)])).flat()
  return runs.toSorted((a, b) => (a.authorisedAt < b.authorisedAt ? 1 : a.authorisedAt > b.authorisedAt ? -1 : 0))
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

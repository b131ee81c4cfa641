import {signal} from '@preact/signals'
import {useEffect} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {client, inOrg} from '../state/session.ts'
import type {Standing} from './steps.ts'

/** What is known of the import somebody is at: kept from one of its pages to the next, and read anew by each. */
export type Known = Standing & {again(): Promise<void>}
type Held = {id: string; standing: Standing | null; error: unknown}

const held = signal<Held>({id: '', standing: null, error: null})
let reading: AbortController | null = null
/** The import whose pages are looked at. Something that ends when they were left is not to take the place of another. */
let shown: string | null = null

/** Reads the import with its last check and its runs; answers when it is read. What is known stays until then. */
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

/** `again` reads it anew, after a change: await it, or let it come. */
export const useImport = (id: string): {known: Known | null; error: unknown; again(): Promise<void>} => {
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
  return {known: standing && {...standing, again}, error, again}
}

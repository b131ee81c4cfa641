import {useRef, useState} from 'preact/hooks'
import type {Json, Query} from '../../http.ts'
import {html, type Markup} from '../html.ts'
import {type Loaded, useDoing, useLoad} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/shell.ts'
import {Button} from './button.ts'
import {Problem} from './notice.ts'
import {Shown} from './page.ts'
import {type Column, Table} from './table.ts'

type PageOf<T> = {rows: T[]; nextCursor: string | null}
export type PagedRows<T> = {first: Loaded<PageOf<T>>; older: PageOf<T> | null; readOlder(): Promise<void>; again(): void}

/** Loads the first page of a list, newest first. `readOlder` appends the next page. `name`: the property of the response that contains the rows. */
export const usePages = <T>(path: string, name: string, query: Query): PagedRows<T> => {
  const [older, setOlder] = useState<PageOf<T> | null>(null)
  const read = async (cursor?: string, signal?: AbortSignal): Promise<PageOf<T>> => {
    const {[name]: rows, nextCursor}: Json = await client.get(inOrg(path), {...query, cursor}, signal)
    return {rows, nextCursor}
  }
  const load = useRef<AbortSignal | null>(null)
  const first = useLoad<PageOf<T>>(
    signal => {
      load.current = signal
      setOlder(null)
      return read(undefined, signal)
    },
    [path, JSON.stringify(query)],
  )
  const readOlder = async () => {
    const signal = load.current
    const page = await read((older ?? first.data)!.nextCursor!)
    // If the first page was loaded again meanwhile, this page does not follow it.
    if (!signal?.aborted) setOlder({...page, rows: [...(older?.rows ?? []), ...page.rows]})
  }
  return {first, older, readOlder, again: first.again}
}

/** `keyOf`: the key of a row without an `id`. */
type Props<T> = {of: PagedRows<T>; caption: string; columns: Column<T>[]; empty?: Markup; keyOf?: (row: T) => string}

export const PagedTable = <T>({of: {first, older, readOlder}, keyOf = idOf, ...table}: Props<T>) => {
  const more = useDoing(readOlder)
  return html`
    <${Shown} of=${first}>
      ${({rows}: PageOf<T>) => html`<${Table} ...${table} rows=${[...rows, ...(older?.rows ?? [])]} keyOf=${keyOf} />`}
    <//>
    <${Problem} error=${more.error} />
    ${(older ?? first.data)?.nextCursor && html`<p class="gap-above"><${Button} isBusy=${more.isBusy} disabled=${first.isLoading} onClick=${() => more.run()}>${t.showOlder}<//></p>`}
  `
}

const idOf = (row: unknown): string => (row as {id: string}).id

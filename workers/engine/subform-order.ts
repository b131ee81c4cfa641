import type {Row as FileRow} from '../../shared/imports/row.ts'
import {openSorting, type Sorting} from '../../shared/imports/row-sort.ts'
import type {Context} from './context.ts'
import type {ParentLink} from './parents.ts'
import {type Belonging, type Bereft, codeOf, findParents} from './parents.ts'
import {readChunks} from './reading.ts'
import type {Failure, Track} from './row.ts'

/** A flow whose rows are rows of a subform. */
export type SubformTrack = Track & {subform: {link: ParentLink; field: string; module: string}}

export const isSubform = (track: Track): track is SubformTrack => Boolean(track.subform)

/** A row of the file with the record it is to be a row of, or how it ends without one. */
export type Placed = Pick<FileRow, 'rowNumber' | 'cells' | 'ragged'> & {parent: Belonging | null; end: Failure | null}

/**
 * The rows of the file by the records they belong to, each record's in the order of the file; first those that belong to none. The file is
 * read once, and what does not fit into memory waits on disk. `sorting` is the caller's to close.
 */
export async function* readByParent(ctx: Context, track: SubformTrack, sorting: Sorting<Placed>): AsyncGenerator<Placed[]> {
  for await (const chunk of readChunks(ctx, track)) {
    ctx.signal.throwIfAborted()
    const rows = chunk.filter(({struck}) => struck === undefined)
    const parents = await findParents(ctx, {...track, parent: track.subform.link}, rows)
    await sorting.add(rows.map(row => place(track, row, parents.get(row.rowNumber)!)))
  }
  yield* sorting.sorted()
}

export const openPlaces = (options: {chunkBytes?: number} = {}): Sorting<Placed> => openSorting({compare, sizeOf, ...options})

const compare = (a: Placed, b: Placed) => {
  const [one, other] = [a.parent?.recordId ?? '', b.parent?.recordId ?? '']
  return one === other ? a.rowNumber - b.rowNumber : one < other ? -1 : 1
}

const sizeOf = ({cells}: Placed) => cells.reduce((sum, {length}) => sum + length + 16, 200)

const place = (track: SubformTrack, {rowNumber, cells, ragged}: FileRow, found: Belonging | Bereft): Placed => {
  const row = {rowNumber, cells, ragged}
  return 'recordId' in found ? {...row, parent: found, end: null} : {...row, parent: null, end: endOf(track, rowNumber, found)}
}

const endOf = ({id, subform}: SubformTrack, number: number, {end, ...missing}: Bereft): Failure => ({
  ...{number, key: `${id}.${number}`, code: codeOf(missing), target: subform.field},
  message: `${missing.message}: the row was ${end === 'skipped' ? 'skipped' : 'not written'}`,
  ...(end === 'skipped' && {end}),
})

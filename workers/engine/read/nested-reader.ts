import {elementsAtOnce} from '../../../shared/crm/subforms.ts'
import {charactersAtOnce, charactersIn, type FileRow} from '../../../shared/files/row.ts'
import {openRowSort} from '../../../shared/runs/results/row-sort.ts'
import {findParentCandidates} from '../compose/parents.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import type {CompiledSubformFlow} from '../subform/record-order.ts'
import {readChunks} from './read-rows.ts'

/**
 * The subform rows of one row, by flow, in file order. A list ends one row beyond what a request can contain, so that later steps notice
 * the excess.
 */
export type NestableRows = Map<CompiledSubformFlow, FileRow[]>

export type NestedChunk = {read: FileRow[]; nestable: Map<number, NestableRows>}

export type NestedReader = {
  /** Adds to each row its nestable rows. Call it with rows in file order. Yields several chunks if there are many nestable rows. */
  chunk(read: FileRow[]): AsyncGenerator<NestedChunk>
  close(): Promise<void>
}

type NestableRow = Pick<FileRow, 'rowNumber' | 'cells' | 'ragged' | 'faults' | 'numeric'> & {parent: number}

/**
 * Reads the files of the nested flows once and sorts their rows by parent row, on disk if they are large. If several parent rows share a
 * key, the first gets the nested rows. Returns null if no flow is nested in this one.
 */
export const openNestedReader = async (ctx: Context, flow: CompiledFlow): Promise<NestedReader | null> => {
  if (!flow.nestedFlows) return null
  const sortings = flow.nestedFlows.map(nest => ({nest, sorting: openRowSort<NestableRow>({compare, sizeOf})}))
  const close = async () => void (await Promise.allSettled(sortings.map(({sorting}) => sorting.close())))
  try {
    for (const {nest, sorting} of sortings)
      for await (const chunk of readChunks(ctx, nest)) {
        ctx.signal.throwIfAborted()
        await sorting.add(await placeRows(ctx, nest, chunk))
      }
  } catch (error) {
    await close()
    throw error
  }
  const cursors = sortings.map(({nest, sorting}) => ({nest, take: openCursor(sorting.sorted())}))
  const rowsOf = async (number: number): Promise<NestableRows> => {
    const found: NestableRows = new Map()
    for (const {nest, take} of cursors) {
      const rows = await take(number)
      if (rows.length) found.set(nest, rows)
    }
    return found
  }
  return {chunk: read => chunkRows(read, rowsOf), close}
}

export const measureNestable = (rows: NestableRows | undefined): number =>
  [...(rows?.values() ?? [])].flat().reduce((sum, {cells}) => sum + charactersIn(cells), 0)

const placeRows = async (ctx: Context, nest: CompiledSubformFlow, chunk: FileRow[]): Promise<NestableRow[]> => {
  const rows = chunk.filter(({struck}) => struck === undefined)
  const candidates = await findParentCandidates(ctx, {...nest, parent: nest.subform.link}, rows)
  return rows.flatMap(({struck: _, stored: __, read: ___, ...row}) => {
    const parent = candidates.get(row.rowNumber)?.numbers[0]
    return parent === undefined ? [] : [{...row, parent}]
  })
}

async function* chunkRows(read: FileRow[], rowsOf: (number: number) => Promise<NestableRows>): AsyncGenerator<NestedChunk> {
  let part: NestedChunk = {read: [], nestable: new Map()}
  let [count, size] = [0, 0]
  for (const row of read) {
    const rows = await rowsOf(row.rowNumber)
    part.read.push(row)
    if (rows.size) part.nestable.set(row.rowNumber, rows)
    for (const some of rows.values()) count += some.length
    size += measureNestable(rows)
    if (count < elementsAtOnce && size < charactersAtOnce) continue
    yield part
    part = {read: [], nestable: new Map()}
    ;[count, size] = [0, 0]
  }
  if (part.read.length) yield part
}

/** Returns a function that takes a parent's number and returns its rows. Call the function with ascending numbers. */
const openCursor = (sorted: AsyncGenerator<NestableRow[]>) => {
  let items: NestableRow[] = []
  let at = 0
  const peek = async (): Promise<NestableRow | undefined> => {
    while (at === items.length) {
      const {value, done} = await sorted.next()
      if (done) return undefined
      items = value
      at = 0
    }
    return items[at]
  }
  return async (parent: number): Promise<FileRow[]> => {
    const rows: FileRow[] = []
    for (let next = await peek(); next && next.parent <= parent; next = await peek()) {
      at++
      if (next.parent === parent && rows.length <= elementsAtOnce) rows.push(next)
    }
    return rows
  }
}

const compare = (a: NestableRow, b: NestableRow) => a.parent - b.parent || a.rowNumber - b.rowNumber

const sizeOf = ({cells}: NestableRow) => cells.reduce((sum, {length}) => sum + length + 16, 200)

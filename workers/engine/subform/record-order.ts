import type {FileRow} from '../../../shared/files/row.ts'
import {openRowSort, type RowSort} from '../../../shared/runs/results/row-sort.ts'
import {findParents, type MissingParent, type ParentRecord, parentProblemCode} from '../compose/parents.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow, RowFailure} from '../model.ts'
import {readChunks} from '../read/read-rows.ts'

export type CompiledSubformFlow = CompiledFlow & {subform: NonNullable<CompiledFlow['subform']>}

export const isSubform = (flow: CompiledFlow): flow is CompiledSubformFlow => Boolean(flow.subform)

/** `parent`: the row's parent record. `end`: how the row ends if it has none. */
export type OrderedSubformRow = Omit<FileRow, 'stored' | 'struck'> & {parent: ParentRecord | null; end: RowFailure | null}

/**
 * Yields the rows of the file grouped by parent record, in file order within each record. Rows without a record come first. The file is
 * read once, and rows that do not fit into memory are sorted on disk. The caller closes `sorting`.
 */
export async function* readByParent(
  ctx: Context,
  flow: CompiledSubformFlow,
  sorting: RowSort<OrderedSubformRow>,
): AsyncGenerator<OrderedSubformRow[]> {
  for await (const chunk of readChunks(ctx, flow)) {
    ctx.signal.throwIfAborted()
    const rows = chunk.filter(({struck}) => struck === undefined)
    const parents = await findParents(ctx, {...flow, parent: flow.subform.link}, rows)
    await sorting.add(rows.map(row => orderRow(flow, row, parents.get(row.rowNumber)!)))
  }
  yield* sorting.sorted()
}

export const openSubformRowSort = (options: {chunkBytes?: number} = {}): RowSort<OrderedSubformRow> =>
  openRowSort({compare, sizeOf, ...options})

const compare = (a: OrderedSubformRow, b: OrderedSubformRow) => {
  const [one, other] = [a.parent?.recordId ?? '', b.parent?.recordId ?? '']
  return one === other ? a.rowNumber - b.rowNumber : one < other ? -1 : 1
}

const sizeOf = ({cells}: OrderedSubformRow) => cells.reduce((sum, {length}) => sum + length + 16, 200)

const orderRow = (
  flow: CompiledSubformFlow,
  {stored: _, struck: __, ...row}: FileRow,
  found: ParentRecord | MissingParent,
): OrderedSubformRow =>
  'recordId' in found ? {...row, parent: found, end: null} : {...row, parent: null, end: endOf(flow, row.rowNumber, found)}

const endOf = ({id, subform}: CompiledSubformFlow, number: number, {end, ...missing}: MissingParent): RowFailure => ({
  number,
  key: `${id}.${number}`,
  code: parentProblemCode(missing),
  target: subform.field,
  message: `${missing.message}: the row was ${end === 'skipped' ? 'skipped' : 'not written'}`,
  ...(end === 'skipped' && {end}),
})

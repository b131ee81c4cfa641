import {z} from 'zod'
import {type AcceptedFileRow, insertAcceptedFile} from '../../../sql/data-contracts.ts'
import type {Tx} from '../../../sql/database.ts'
import type {Import} from '../../../sql/imports.ts'
import {readNarrowSources} from '../../files/sources/evidence.ts'
import {slotsOf} from '../templates/slots.ts'

const ColumnShape = z.object({
  name: z.string(),
  kinds: z.array(z.string()),
  filled: z.number(),
  empties: z.number(),
  /** The number of distinct values; an estimate unless `exact`. */
  distinct: z.number(),
  exact: z.boolean(),
})
/** Statistics of a column of an accepted file. They contain no cell values. */
export type ColumnShape = z.output<typeof ColumnShape>

export type AcceptedFile = Omit<AcceptedFileRow, 'columns'> & {columns: ColumnShape[]}

export const acceptedFileOf = (row: AcceptedFileRow): AcceptedFile => ({...row, columns: z.array(ColumnShape).parse(row.columns)})

/** Maximum number of columns per file whose shapes are stored. Equals the limit of a contract. */
const mostColumns = 500

/** Stores the column shapes of an import's files when a run of its template starts. Leaves out columns that the template does not name. */
export const keepAcceptedFiles = async (tx: Tx, {org, found}: {org: string; found: Import}): Promise<void> => {
  if (found.templateId === null) return
  const sources = await readNarrowSources(tx, {importNo: found.no, keys: ['name', 'kinds', 'empties', 'distinct']})
  for (const {slot, sourceId, columns: known, cleaning} of slotsOf(found)) {
    const source = sources.find(({id}) => id === sourceId)
    if (!source) continue
    const names = new Set([...known, ...cleaning.flatMap(step => (step.step === 'split' ? step.into : []))])
    const columns = source.evidence.columns.filter(({name}) => names.has(name)).slice(0, mostColumns)
    await insertAcceptedFile(tx, {
      org,
      template: found.templateId,
      slot,
      sourceId: source.id,
      rows: source.rows - (source.evidence.struck?.count ?? 0),
      columns: columns.map(shapeColumn),
    })
  }
}

type SeenColumn = Awaited<
  ReturnType<typeof readNarrowSources<'name' | 'kinds' | 'empties' | 'distinct'>>
>[number]['evidence']['columns'][number]

const shapeColumn = ({name, kinds, empties, distinct}: SeenColumn): ColumnShape => ({
  name,
  kinds: Object.keys(kinds),
  empties,
  filled: Object.values(kinds).reduce((sum, cells) => sum + cells, 0),
  distinct: distinct.about ?? distinct.count,
  exact: !distinct.more,
})
